//! The shared object as a program meets it that loads it.

use std::path::PathBuf;

/// The object that cargo built beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    test.with_file_name("libnvidia_ml.so")
}

#[test]
fn every_name_of_the_header_is_exported() {
    // SAFETY: the object has no initialiser.
    let object = unsafe { libloading::Library::new(library()) }.unwrap();
    let names = include_str!("../names.txt").lines().filter(|line| !line.starts_with('#')).map(|line| &line[2..]);
    let mut count = 0;
    for name in names {
        // SAFETY: the symbol is looked up and not called.
        let found = unsafe { object.get::<unsafe extern "C" fn() -> i32>(name.as_bytes()) };
        assert!(found.is_ok(), "{name} is not exported");
        count += 1;
    }
    assert!(count >= 430, "the list of names is cut short: {count}");
}

#[test]
fn a_function_that_is_not_modelled_says_so() {
    // SAFETY: as above; the stub takes no arguments.
    let code = unsafe {
        let object = libloading::Library::new(library()).unwrap();
        object.get::<unsafe extern "C" fn() -> i32>(b"nvmlDeviceGetVgpuMetadata").unwrap()()
    };
    assert_eq!(code, 3);
}

#[test]
fn without_a_call_to_init_nothing_is_told() {
    // SAFETY: the argument is null, which every function checks.
    let code = unsafe {
        let object = libloading::Library::new(library()).unwrap();
        object.get::<unsafe extern "C" fn(*mut u32) -> i32>(b"nvmlDeviceGetCount_v2").unwrap()(std::ptr::null_mut())
    };
    assert_eq!(code, 1);
}

#[test]
fn the_object_is_named_as_programs_look_for_it() {
    let bytes = std::fs::read(library()).unwrap();
    let name = b"libnvidia-ml.so.1\0";
    assert!(bytes.windows(name.len()).any(|window| window == name));
}
