//! Builds the fake management library as a shared object and leaves it where
//! `include_bytes!` finds it.
//!
//! Cargo cannot embed another package's cdylib in stable Rust, so a second cargo
//! builds it, in a target directory of its own: the outer cargo holds the lock of
//! the usual one until this script ends.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

type Anyhow<T> = Result<T, Box<dyn std::error::Error>>;

/// Settings of the outer build that must not change the embedded object: linter
/// wrappers, sanitizers and coverage flags, and above all the target directory.
const NOT_INHERITED: &[&str] = &[
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_BUILD_TARGET",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER",
    "CLIPPY_ARGS",
];

/// Small, and the same whatever the workspace's release profile becomes.
const PROFILE: &[(&str, &str)] = &[
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s"),
    ("CARGO_PROFILE_RELEASE_LTO", "true"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
    ("CARGO_PROFILE_RELEASE_STRIP", "symbols"),
    // A panic must stay catchable: the library is a guest in foreign programs.
    ("CARGO_PROFILE_RELEASE_PANIC", "unwind"),
];

fn main() -> Anyhow<()> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let source = here.join("../fake-nvml");
    for part in ["Cargo.toml", "build.rs", "names.txt", "src"] {
        println!("cargo:rerun-if-changed={}", source.join(part).display());
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let (host, target) = (env::var("HOST")?, object_target(&env::var("TARGET")?));
    let built = build(&source, &out.join("fake-nvml"), (target != host).then_some(target.as_str()))?;
    std::fs::copy(built, out.join("libnvidia-ml.so.1"))?;
    Ok(())
}

/// A static musl binary cannot bring a shared object of its own kind, and the
/// object goes into images that mostly have glibc.
fn object_target(target: &str) -> String {
    target.replace("-musl", "-gnu")
}

fn build(source: &Path, target_dir: &Path, target: Option<&str>) -> Anyhow<PathBuf> {
    // The lock file is the outer build's. Only a package without one (vendored
    // elsewhere) may resolve again, and never over the network.
    let ok = cargo(source, target_dir, target, &["--offline", "--locked"])?
        || cargo(source, target_dir, target, &["--offline"])?;
    if !ok {
        return Err("building the fake management library failed; cargo's words are above".into());
    }
    let dir = target.map_or_else(|| target_dir.to_owned(), |target| target_dir.join(target));
    Ok(dir.join("release/libnvidia_ml.so"))
}

fn cargo(source: &Path, target_dir: &Path, target: Option<&str>, more: &[&str]) -> Anyhow<bool> {
    let mut command = Command::new(env::var("CARGO")?);
    command.args(["build", "--release", "--lib", "--package", "suanli-fake-nvml"]).args(more);
    command.arg("--manifest-path").arg(source.join("Cargo.toml")).arg("--target-dir").arg(target_dir);
    if let Some(target) = target {
        command.args(["--target", target]);
    }
    for name in NOT_INHERITED {
        command.env_remove(name);
    }
    command.envs(PROFILE.iter().copied());
    Ok(command.status()?.success())
}
