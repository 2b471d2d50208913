//! Folders that end with their test.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// A folder of one test. Below /tmp whatever `TMPDIR` says: the server is another
/// user there, who must be able to pass, and paths of sockets must be short.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    number: u32,
}

impl Folder {
    /// A new one.
    ///
    /// # Panics
    /// It cannot be made.
    #[allow(clippy::new_without_default, reason = "it makes something on the disk")]
    pub fn new() -> Self {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = PathBuf::from(format!("/tmp/suanli-e2e-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).expect("a folder of this test");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
        Self { path, number }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which one of this process it is.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::thread::panicking() && std::env::var_os("SUANLI_E2E_KEEP").is_some() {
            eprintln!("kept: {}", self.path.display());
            return;
        }
        // A second look: something that was being ended may have written in between.
        if std::fs::remove_dir_all(&self.path).is_err() {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// A small file system in memory, gone with its test.
#[derive(Debug)]
pub struct Tmpfs(PathBuf);

impl Tmpfs {
    /// Mounts one of `mib` MiB at `path`, which is made.
    ///
    /// # Panics
    /// It cannot be mounted.
    pub fn mount(path: &Path, mib: u64) -> Self {
        std::fs::create_dir_all(path).expect("the mount point");
        let size = format!("size={mib}m,mode=755");
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(path).status();
        assert!(done.is_ok_and(|status| status.success()), "a tmpfs cannot be mounted at {}", path.display());
        Self(path.to_owned())
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // Lazily, because what was killed a moment ago may still be leaving.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
