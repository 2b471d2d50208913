//! Which keys seal secrets. They never lie in the data folder: whoever copies that
//! must not have both.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use base::{Cause, Error, Result};
use server::secrets::KeySource;

use super::unprivileged;
use crate::output;

/// The keys themselves instead of a file.
pub const KEYS: &str = "SUANLI_SECRET_KEY";
/// The file, as the option names it.
pub const FILE: &str = "SUANLI_SECRET_KEY_FILE";

/// Where the keys of a server come from: `SUANLI_SECRET_KEY`, the named file, or
/// the usual place.
///
/// # Errors
/// No home to keep a file in; a file inside the data folder.
pub fn source(named: Option<&Path>, data: &Path) -> Result<KeySource> {
    if let Ok(text) = std::env::var(KEYS)
        && !text.trim().is_empty()
    {
        return Ok(KeySource::Text(text));
    }
    let path = path(named)?;
    if path.starts_with(data) {
        return Err(Error::new(
            Cause::InvalidRequest,
            format!("the key file {} would lie in the data folder, where every copy takes it along", path.display()),
        )
        .hint("name a place outside with --secret-key FILE"));
    }
    Ok(KeySource::File(path))
}

/// The named key file, or the usual one.
///
/// # Errors
/// No home to keep it in.
pub fn path(named: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = named {
        return std::path::absolute(path).map_err(Error::internal);
    }
    if unprivileged::is_root() {
        return Ok(PathBuf::from("/etc/suanli/secret.key"));
    }
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    config.map(|folder| folder.join("suanli/secret.key")).ok_or_else(|| {
        Error::new(Cause::InvalidRequest, "there is no place for the key that seals secrets")
            .hint("name one with --secret-key FILE")
    })
}

/// As root, before the server becomes `user`: makes the file if it is missing and
/// gives it to him. Returns its path for the server to come.
///
/// # Errors
/// The file cannot be made or given.
pub fn give(source: &KeySource, uid: u32, gid: u32) -> Result<Option<PathBuf>> {
    let KeySource::File(path) = source else {
        return Ok(None);
    };
    if source.read()?.1.is_some() {
        tell(path);
    }
    let owner = std::fs::metadata(path).map(|meta| meta.uid()).unwrap_or_default();
    if owner == 0 {
        std::os::unix::fs::chown(path, Some(uid), Some(gid)).map_err(|e| {
            Error::new(Cause::HostIncomplete, "the key file cannot be given to the server's user").context(e)
        })?;
    }
    Ok(Some(path.clone()))
}

/// Says that a key was made, and what that asks of the operator.
pub fn tell(path: &Path) {
    output::print(&format!(
        "made the key that seals secrets in the database: {}\n\
         (keep a copy of it apart from the backups; nobody can read them without it)\n",
        path.display()
    ));
}
