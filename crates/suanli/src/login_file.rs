//! The saved login: which server, as whom, with what token.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base::{Cause, Error, Result};
use client::Client;
use serde::{Deserialize, Serialize};

use crate::inside::{self, Inside};

/// What is kept between commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    /// Address of the server.
    pub url: String,
    /// Bearer token.
    pub token: String,
    /// Name of the user.
    pub user: String,
}

/// Where the login is saved: `$XDG_CONFIG_HOME/suanli/login.toml`.
///
/// # Errors
/// `invalid-request` when neither `XDG_CONFIG_HOME` nor `HOME` is set.
pub fn path() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    config.map(|folder| folder.join("suanli/login.toml")).ok_or_else(|| {
        Error::new(
            Cause::InvalidRequest,
            "there is no place to keep the login: neither XDG_CONFIG_HOME nor HOME is set",
        )
        .hint("set HOME, or use SUANLI_URL and SUANLI_TOKEN instead of a saved login")
    })
}

/// Reads the saved login; `None` when there is none.
///
/// # Errors
/// `invalid-request` when the file cannot be read or understood.
pub fn read(path: &Path) -> Result<Option<Login>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(broken(path).context(error)),
    };
    toml::from_str(&text).map(Some).map_err(|e| broken(path).context(e))
}

fn broken(path: &Path) -> Error {
    Error::new(Cause::InvalidRequest, format!("the saved login {} cannot be read", path.display()))
        .hint("remove the file and sign in again with `suanli login URL`")
}

/// Saves a login, readable by its owner only. A crash leaves the old one or the new one.
///
/// # Errors
/// `disk-full` when it cannot be written.
pub fn write(path: &Path, login: &Login) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(Cause::DiskFull, format!("the login cannot be saved in {}: {error}", path.display()))
            .hint("make room, or set XDG_CONFIG_HOME to a folder that can be written")
    };
    let folder = path.parent().ok_or_else(|| failed(&"it has no folder"))?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| failed(&e))?;
    let text = toml::to_string(login).map_err(|e| failed(&e))?;
    let fresh = folder.join(format!(".login.{}", std::process::id()));
    // A file of that name left by a crash may be readable by others.
    drop(fs::remove_file(&fresh));
    let written = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, path)
    });
    written.map_err(|error| {
        drop(fs::remove_file(&fresh));
        failed(&error)
    })
}

/// Forgets the saved login; says whether there was one.
///
/// # Errors
/// `invalid-request` when the file cannot be removed.
pub fn remove(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::new(Cause::InvalidRequest, format!("{} cannot be removed: {error}", path.display()))),
    }
}

/// What the environment and the saved login give together.
///
/// A token belongs to its server: with another address in `SUANLI_URL` neither the
/// saved one nor that of the instance around this program is sent.
///
/// # Errors
/// `unauthenticated` when there is no address.
pub fn choose(
    url: Option<String>,
    token: Option<String>,
    saved: Option<Login>,
    inside: Option<Inside>,
) -> Result<(String, Option<String>)> {
    let trim = |url: &str| url.trim_end_matches('/').to_owned();
    let saved = saved.map(|login| (login.url, login.token));
    let own = inside.and_then(|inside| Some((inside.url?, inside.token)));
    match url {
        Some(url) => {
            let fits = saved.into_iter().chain(own).find(|(of, _)| trim(of) == trim(&url)).map(|(_, token)| token);
            Ok((url, token.or(fits)))
        }
        None if saved.is_some() || own.is_some() => {
            let (url, known) = saved.or(own).unwrap_or_default();
            Ok((url, token.or(Some(known))))
        }
        None => Err(Error::new(Cause::Unauthenticated, "not signed in to any server")
            .hint("sign in with `suanli login URL`, or set SUANLI_URL and SUANLI_TOKEN")),
    }
}

/// A client as the environment or the saved login says.
///
/// # Errors
/// `unauthenticated` when there is no login.
pub fn client() -> Result<Client> {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (url, token) = (set("SUANLI_URL"), set("SUANLI_TOKEN"));
    // With both given, a broken file must not be in the way; nor, inside of an
    // instance, that a start command has no home.
    let saved = match path() {
        _ if url.is_some() && token.is_some() => None,
        Err(_) if !inside::must_name() => None,
        path => read(&path?)?,
    };
    let (url, token) = choose(url, token, saved, inside::find())?;
    Client::new(&url, token.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn login() -> Login {
        Login { url: "http://a:1".into(), token: "secret".into(), user: "ann".into() }
    }

    #[test]
    fn a_login_comes_back_and_only_its_owner_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x/suanli/login.toml");
        assert_eq!(read(&path).unwrap(), None);
        write(&path, &login()).unwrap();
        write(&path, &login()).unwrap();
        assert_eq!(read(&path).unwrap(), Some(login()));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert!(remove(&path).unwrap());
        assert!(!remove(&path).unwrap());
    }

    fn own() -> Inside {
        Inside { instance: "ins-1".into(), token: "inside".into(), url: Some("http://a:1".into()) }
    }

    #[test]
    fn inside_of_an_instance_its_own_token_serves_where_nothing_else_is_given() {
        let text = |s: &str| Some(s.to_owned());
        assert_eq!(choose(None, None, None, Some(own())).unwrap(), ("http://a:1".into(), text("inside")));
        // Its environment says where the server is, too.
        assert_eq!(choose(text("http://a:1/"), None, None, Some(own())).unwrap().1, text("inside"));
        assert_eq!(choose(None, None, Some(login()), Some(own())).unwrap().1, text("secret"));
        assert_eq!(choose(None, text("other"), None, Some(own())).unwrap().1, text("other"));
        let nowhere = Inside { url: None, ..own() };
        assert_eq!(choose(None, None, None, Some(nowhere.clone())).unwrap_err().cause(), Cause::Unauthenticated);
        assert_eq!(choose(text("http://a:1"), None, None, Some(nowhere)).unwrap().1, None);
    }

    #[test]
    fn a_saved_token_is_never_sent_to_another_server() {
        let (url, token) = choose(Some("http://b:1".into()), None, Some(login()), Some(own())).unwrap();
        assert_eq!((url.as_str(), token), ("http://b:1", None));
        let (_, token) = choose(Some("http://a:1/".into()), None, Some(login()), None).unwrap();
        assert_eq!(token.as_deref(), Some("secret"));
        let (_, token) = choose(None, Some("other".into()), Some(login()), None).unwrap();
        assert_eq!(token.as_deref(), Some("other"));
        assert_eq!(choose(None, None, None, None).unwrap_err().cause(), Cause::Unauthenticated);
    }
}
