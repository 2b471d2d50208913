//! The key file: beside nothing that a backup or a copy of the data takes along.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use base::{Cause, Error, Result};

use super::Keyring;

const HEAD: &str = "\
# Keys that seal the secrets in Suanli's database: the first seals, all open.
# Keep a copy apart from the backups. Without it nobody can read what renters gave
# as environment and start command.
";

fn failed(path: &Path, what: &str, error: &std::io::Error) -> Error {
    Error::new(Cause::HostIncomplete, format!("the key file {} cannot be {what}: {error}", path.display()))
        .hint("name another place with --secret-key FILE, which the server's user can read")
}

/// The keys of a file, and whether it was made just now, with one fresh key.
///
/// # Errors
/// `host-incomplete` when it cannot be read or made, or others may read it.
pub fn read_or_make(path: &Path) -> Result<(Keyring, bool)> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.mode() & 0o077 != 0 => {
            return Err(Error::new(
                Cause::HostIncomplete,
                format!("the key file {} can be read by others than its owner", path.display()),
            )
            .hint(format!("chmod 600 {}", path.display())));
        }
        Ok(_) => return Ok((read(path)?, false)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(path, "read", &error)),
    }
    if let Some(folder) = path.parent() {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o755).create(folder);
        made.map_err(|e| failed(path, "made", &e))?;
    }
    let text = format!("{HEAD}{}\n", Keyring::generate()?);
    let part = temporary(path);
    write_new(&part, &text)?;
    // A link never replaces a file that another server has made meanwhile.
    let linked = std::fs::hard_link(&part, path);
    let removed = std::fs::remove_file(&part);
    match linked.and(removed) {
        Ok(()) => {
            sync_folder(path);
            Ok((read(path)?, true))
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok((read(path)?, false)),
        Err(error) => Err(failed(path, "made", &error)),
    }
}

fn read(path: &Path) -> Result<Keyring> {
    let text = std::fs::read_to_string(path).map_err(|e| failed(path, "read", &e))?;
    Keyring::parse(&text)
}

/// Puts a fresh key in front; its id. Servers that read the file seal with it
/// from then on and rewrite what older keys have sealed.
///
/// # Errors
/// `host-incomplete` when the file cannot be read or replaced.
pub fn add_key(path: &Path) -> Result<String> {
    let old = read(path)?;
    let fresh = Keyring::generate()?;
    let id = Keyring::parse(&fresh)?.ids().concat();
    replace(path, std::iter::once(fresh.as_str()).chain(old.0.iter().map(|key| key.text.as_str())))?;
    Ok(id)
}

/// Takes a key out of the file. Whoever calls has made sure that nothing needs it.
///
/// # Errors
/// `not-found` when the file does not have it, `wrong-state` when it is the one
/// that seals.
pub fn forget_key(path: &Path, id: &str) -> Result<()> {
    let old = read(path)?;
    match old.ids().iter().position(|found| *found == id) {
        None => Err(Error::not_found(format!("key {id} in {}", path.display()))),
        Some(0) => Err(Error::new(Cause::WrongState, format!("key {id} is the one that seals"))
            .hint("make a new one first: `suanli secret rotate`")),
        Some(_) => replace(path, old.0.iter().filter(|key| key.id != id).map(|key| key.text.as_str())),
    }
}

fn replace<'k>(path: &Path, keys: impl Iterator<Item = &'k str>) -> Result<()> {
    let lines: String = keys.map(|key| format!("{key}\n")).collect();
    let part = temporary(path);
    let before = std::fs::metadata(path).map_err(|e| failed(path, "read", &e))?;
    write_new(&part, &format!("{HEAD}{lines}"))?;
    // The server's user must be able to read the new file as it did the old one.
    let owned = std::os::unix::fs::chown(&part, Some(before.uid()), Some(before.gid()));
    owned.and_then(|()| std::fs::rename(&part, path)).map_err(|e| {
        drop(std::fs::remove_file(&part));
        failed(path, "replaced", &e)
    })?;
    sync_folder(path);
    Ok(())
}

fn temporary(path: &Path) -> std::path::PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:016x}", rand::random::<u64>()));
    path.with_file_name(name)
}

fn write_new(path: &Path, text: &str) -> Result<()> {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .map_err(|e| failed(path, "made", &e))
}

fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(folder) = std::fs::File::open(folder) {
        // Where a folder cannot be flushed, the file itself was.
        drop(folder.sync_all());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_file_is_made_once_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/secret.key");
        let (keys, made) = read_or_make(&path).unwrap();
        assert!(made);
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let (again, made) = read_or_make(&path).unwrap();
        assert!(!made);
        assert_eq!(again.ids(), keys.ids());
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(read_or_make(&path).unwrap_err().cause(), Cause::HostIncomplete);
    }

    #[test]
    fn keys_are_added_in_front_and_forgotten_from_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k");
        let old = read_or_make(&path).unwrap().0.ids().concat();
        let new = add_key(&path).unwrap();
        assert_eq!(read(&path).unwrap().ids(), [new.as_str(), old.as_str()]);
        assert_eq!(forget_key(&path, &new).unwrap_err().cause(), Cause::WrongState);
        forget_key(&path, &old).unwrap();
        assert_eq!(read(&path).unwrap().ids(), [new.as_str()]);
        assert_eq!(forget_key(&path, &old).unwrap_err().cause(), Cause::NotFound);
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }
}
