//! The variable that names the state file. A variable belongs to a whole process,
//! so the test starts itself again with it set.

use std::process::Command;

const STATE: &str = "fake = true\ndriver = '550.00.fake'\nnvml = '12.550.00'\ncuda = '12.4'\n";

#[test]
fn the_named_file_is_read_and_no_other() {
    if let Ok(expected) = std::env::var("EXPECTED") {
        let library = std::env::current_exe().unwrap().with_file_name("libnvidia_ml.so");
        // SAFETY: the object has no initialiser and the function takes no arguments.
        let code = unsafe {
            let object = libloading::Library::new(library).unwrap();
            object.get::<unsafe extern "C" fn() -> i32>(b"nvmlInit_v2").unwrap()()
        };
        assert_eq!(code.to_string(), expected);
        return;
    }
    let dir = std::env::temp_dir().join(format!("fake-nvml-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (good, bad) = (dir.join("good.toml"), dir.join("bad.toml"));
    std::fs::write(&good, STATE).unwrap();
    std::fs::write(&bad, STATE.replace("fake = true", "fake = false")).unwrap();
    for (file, expected) in [(good, "0"), (bad, "9"), (dir.join("missing.toml"), "9")] {
        let again = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_named_file_is_read_and_no_other"])
            .env("FAKE_NVML_STATE", &file)
            .env("EXPECTED", expected)
            .output()
            .unwrap();
        assert!(again.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&again.stdout));
        assert!(String::from_utf8_lossy(&again.stdout).contains("1 passed"), "the test did not run again");
    }
    std::fs::remove_dir_all(dir).unwrap();
}
