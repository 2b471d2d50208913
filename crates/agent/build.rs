//! Builds the helper that runs inside instances, as one static program, so that
//! the agent can bring it along.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

type Anyhow<T> = Result<T, Box<dyn std::error::Error>>;

/// Settings of the outer build that must not change the helper: linter wrappers,
/// coverage flags, and the target folder, whose lock the outer build holds.
const NOT_INHERITED: &[&str] = &[
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

fn main() -> Anyhow<()> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    for part in ["guest/src", "guest/Cargo.toml", "link/src", "link/Cargo.toml"] {
        println!("cargo:rerun-if-changed={}", here.join("..").join(part).display());
    }
    println!("cargo:rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let target = env::var("TARGET")?;
    let folder = out.join("guest");
    let source = here.join("../guest");
    // The lock file is the outer build's; resolving again, and then never over the
    // network, is only for a package that was vendored without one.
    let built = cargo(&source, &folder, &target, &["--offline", "--locked"])?
        || cargo(&source, &folder, &target, &["--offline"])?;
    if !built {
        return Err("building the helper for instances failed; cargo's words are above".into());
    }
    std::fs::copy(folder.join(&target).join("guest/suanli-guest"), out.join("suanli-guest"))?;
    Ok(())
}

fn cargo(source: &Path, folder: &Path, target: &str, more: &[&str]) -> Anyhow<bool> {
    let mut command = Command::new(env::var("CARGO")?);
    command.args(["build", "--package", "suanli-guest", "--profile", "guest", "--target", target]).args(more);
    command.arg("--manifest-path").arg(source.join("Cargo.toml")).arg("--target-dir").arg(folder);
    for name in NOT_INHERITED {
        command.env_remove(name);
    }
    // Naming the target keeps the flag away from build scripts of dependencies.
    command.env("RUSTFLAGS", "-C target-feature=+crt-static");
    Ok(command.status()?.success())
}
