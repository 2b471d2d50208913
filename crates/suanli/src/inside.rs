//! What a program inside an instance finds there: the token of the instance, and
//! the server that it is good for.

use std::path::{Path, PathBuf};

/// Where the agent puts it: in a sandbox, and in a system container, which makes its
/// own /run. Where instances are not isolated, `SUANLI_RUN` says it.
const FOLDERS: [&str; 2] = ["/run/suanli", "/opt/suanli/run"];

/// The instance that this program runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Its id.
    pub instance: String,
    /// Its token, which may only be sent to that server.
    pub token: String,
    /// The server; `None` where the operator has not said how instances reach it.
    pub url: Option<String>,
}

/// What is there; `None` outside of instances.
pub fn find() -> Option<Inside> {
    let set = std::env::var_os("SUANLI_RUN").filter(|folder| !folder.is_empty());
    let folders = set.map_or_else(|| FOLDERS.map(PathBuf::from).to_vec(), |folder| vec![folder.into()]);
    folders.iter().find_map(|folder| find_in(folder))
}

fn find_in(folder: &Path) -> Option<Inside> {
    let read = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    Some(Inside { instance: read("instance")?, token: read("token")?, url: read("url") })
}

/// Whether an instance has to be named: inside of one it is that one.
pub fn must_name() -> bool {
    find().is_none()
}

/// The instance that is meant.
///
/// # Errors
/// `invalid-request` when none is named outside of instances.
pub fn named_or_own(named: Option<String>) -> base::Result<String> {
    named.or_else(|| find().map(|inside| inside.instance)).ok_or_else(|| {
        base::Error::new(base::Cause::InvalidRequest, "no instance is named").hint("`suanli ls` lists yours")
    })
}
