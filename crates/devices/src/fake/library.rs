//! The shared object inside this program.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Cause, Error, Result};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libnvidia-ml.so.1"));

/// The fake `libnvidia-ml.so.1` as it lies on disk.
pub fn fake_library() -> &'static [u8] {
    OBJECT
}

/// Writes the fake library to `dir/libnvidia-ml.so.1`, readable and loadable by
/// everybody, and returns that path. A program that has an older copy loaded
/// keeps it. Without the variable `FAKE_NVML_STATE` the library reads
/// `dir/cards.toml`, if that exists when it is initialised.
///
/// # Errors
/// `host-incomplete` when the directory cannot be made or written.
pub fn install_fake_library(dir: &Path) -> Result<PathBuf> {
    let path = dir.join("libnvidia-ml.so.1");
    std::fs::create_dir_all(dir).map_err(|error| not_written(dir, &error))?;
    replace(&path, OBJECT, 0o755)?;
    Ok(path)
}

/// Puts a whole file in place of `path` in one step.
pub(super) fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let next = path.with_file_name(name);
    let written = std::fs::write(&next, bytes)
        // Not left to the umask: programs of other users read these files.
        .and_then(|()| std::fs::set_permissions(&next, std::fs::Permissions::from_mode(mode)))
        .and_then(|()| std::fs::rename(&next, path));
    written.map_err(|error| {
        // Best effort: the write has failed already, and its cause is what counts.
        let _ = std::fs::remove_file(&next);
        not_written(path, &error)
    })
}

fn not_written(path: &Path, error: &std::io::Error) -> Error {
    let cause = match error.kind() {
        std::io::ErrorKind::StorageFull => Cause::DiskFull,
        _ => Cause::HostIncomplete,
    };
    Error::new(cause, format!("{} cannot be written", path.display()))
        .hint("make the directory writable for the agent, and see that its disk has room")
        .context(error)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_object_is_installed_whole_and_for_everybody() {
        let dir = tempfile::tempdir().unwrap();
        let path = install_fake_library(&dir.path().join("deeper")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), fake_library());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
        install_fake_library(&dir.path().join("deeper")).unwrap();
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "leftovers");
    }

    #[test]
    fn an_impossible_place_is_refused_with_a_hint() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = install_fake_library(&file).unwrap_err();
        assert_eq!(error.cause(), Cause::HostIncomplete);
        assert!(error.hint_text().is_some());
    }
}
