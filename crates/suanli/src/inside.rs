//! What a program inside an instance finds there: the token of the instance, and
//! the server that it is good for.

use std::path::PathBuf;

/// Where the agent puts it; where instances are not isolated, `SUANLI_RUN` says it.
const FOLDER: &str = "/run/suanli";

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
    let folder = set.map_or_else(|| PathBuf::from(FOLDER), PathBuf::from);
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
