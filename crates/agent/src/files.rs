//! Files that must be whole or absent, and what their errors mean.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;

use base::{Cause, Error, Result};
use rustix::fs::{Mode, OFlags};

/// Turns an I/O error into the product's: a full disk is `disk-full`, all else
/// `engine-failed`.
pub fn error(what: &str, path: &Path, error: &io::Error) -> Error {
    let full = matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT));
    let context = format!("{what} {}: {error}", path.display());
    if full {
        return Error::new(Cause::DiskFull, "the node's disk is full")
            .hint("free space on the node, or rent on another one")
            .context(context);
    }
    Error::new(Cause::EngineFailed, format!("the node could not {what}: {}", error.kind()))
        .hint("the agent's log names the file")
        .context(context)
}

/// Writes `data` so that a reader, or a crash at any moment, sees the old file
/// or the new one. With `durable` it also survives a power cut.
///
/// # Errors
/// As [`error`].
pub fn replace(path: &Path, data: &[u8], mode: u32, durable: bool) -> Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let temporary = Path::new(&name);
    let write = || -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(temporary)?;
        file.write_all(data)?;
        if durable {
            file.sync_all()?;
        }
        fs::rename(temporary, path)?;
        if durable && let Some(parent) = path.parent() {
            fs::File::open(parent)?.sync_all()?;
        }
        Ok(())
    };
    write().map_err(|e| {
        // A half-written file on a full disk takes the room that recovery needs.
        let _ = fs::remove_file(temporary);
        error("write", path, &e)
    })
}

/// Makes a new file that only its owner reads.
///
/// # Errors
/// As [`error`].
pub fn private(path: &Path, data: &[u8], owner: Option<(u32, u32)>) -> Result<()> {
    let write = || -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o400).open(path)?;
        file.write_all(data)?;
        if let Some((uid, gid)) = owner {
            std::os::unix::fs::fchown(&file, Some(uid), Some(gid))?;
        }
        Ok(())
    };
    write().map_err(|e| error("write", path, &e))
}

/// Makes a folder with exactly this mode and owner; an existing one is adjusted.
///
/// # Errors
/// As [`error`].
pub fn folder(path: &Path, mode: u32, owner: Option<(u32, u32)>) -> Result<()> {
    match fs::create_dir(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        other => other.map_err(|e| error("create the folder", path, &e))?,
    }
    if let Some((uid, gid)) = owner {
        chown(path, Some(uid), Some(gid)).map_err(|e| error("change the owner of", path, &e))?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|e| error("change the mode of", path, &e))
}

/// Removes a folder with everything in it; a missing one is fine.
///
/// # Errors
/// As [`error`].
pub fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(|e| error("remove", path, &e)),
    }
}

/// Takes the file's lock for as long as the result lives, or any command that was
/// started meanwhile: commands of an agent that was killed must end before the
/// next one looks at what they do.
///
/// # Errors
/// `already-exists` when another process has it.
pub fn only_one(path: &Path) -> Result<fs::File> {
    let file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|e| error("create", path, &e))?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
        .and_then(|()| rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()))
        .map_err(|e| {
            Error::new(Cause::AlreadyExists, "another agent uses this state folder")
                .hint("stop it first, or give this one another folder")
                .context(format!("{}: {e}", path.display()))
        })?;
    Ok(file)
}

/// Reads at most `limit` bytes of a regular file that a tenant could have put
/// there: links are not followed and a pipe cannot block the agent.
pub fn read_untrusted(path: &Path, limit: usize) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    if rustix::fs::FileType::from_raw_mode(stat.st_mode) != rustix::fs::FileType::RegularFile {
        return None;
    }
    let mut buffer = vec![0; limit];
    let read = rustix::io::read(&file, &mut buffer).ok()?;
    buffer.truncate(read);
    Some(buffer)
}

/// The last lines of a text file, at most `bytes` long, for an error message.
pub fn tail(path: &Path, bytes: usize) -> String {
    let text = fs::read(path).unwrap_or_default();
    let from = text.len().saturating_sub(bytes);
    String::from_utf8_lossy(text.get(from..).unwrap_or_default()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_keeps_no_leftover() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("meta.json");
        replace(&path, b"one", 0o600, true).unwrap();
        replace(&path, b"two", 0o600, false).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn untrusted_files_cannot_mislead() {
        let dir = tempfile::tempdir().unwrap();
        let (plain, link, pipe) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("c"));
        fs::write(&plain, "0123456789").unwrap();
        std::os::unix::fs::symlink(&plain, &link).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(read_untrusted(&plain, 4).unwrap(), b"0123");
        assert_eq!(read_untrusted(&link, 4), None);
        assert_eq!(read_untrusted(&pipe, 4), None);
    }

    #[test]
    fn a_full_disk_is_called_that() {
        let e = error("write", Path::new("/x"), &io::Error::from_raw_os_error(libc::ENOSPC));
        assert_eq!(e.cause(), Cause::DiskFull);
        let e = error("write", Path::new("/x"), &io::Error::from_raw_os_error(libc::EIO));
        assert_eq!(e.cause(), Cause::EngineFailed);
    }
}
