//! Names the shared object, and writes one stub per function that is not modelled.

use std::fmt::Write as _;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnvidia-ml.so.1");
    println!("cargo:rerun-if-changed=names.txt");
    let mut code = String::new();
    for line in std::fs::read_to_string("names.txt")?.lines().filter(|line| !line.starts_with('#')) {
        // A name marked `+` that nobody defined is caught by the completeness
        // test; one that is defined and not marked does not link.
        if let Some(name) = line.strip_prefix("  ") {
            writeln!(code, "#[unsafe(no_mangle)]\npub extern \"C\" fn {name}() -> std::ffi::c_int {{ 3 }}")?;
        }
    }
    std::fs::write(PathBuf::from(std::env::var("OUT_DIR")?).join("stubs.rs"), code)?;
    Ok(())
}
