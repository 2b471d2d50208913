//! Giving up root before anything from outside is answered.

use std::os::unix::fs::{MetadataExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use base::{Cause, Error};

use server::secrets::KeySource;

use super::own_agent::{OwnAgent, STARTED};
use super::{host, secret_key};

/// Whether this process is root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Gives the data folder to the server's user and runs this program again as that
/// user, in the place of this process. Returns only if that is not possible.
pub fn become_user(wanted: Option<&str>, data: &Path, agent: OwnAgent, keys: &KeySource) -> Error {
    let (name, uid, gid) = match user(wanted) {
        Ok(user) => user,
        Err(error) => return error,
    };
    if uid == 0 {
        return Error::new(Cause::InvalidRequest, "the server does not run as root")
            .hint("name another user with --run-as");
    }
    if let Some(folder) = host::closed_to(data, uid, gid) {
        return Error::new(
            Cause::HostIncomplete,
            format!("the server runs as `{name}`, who cannot pass through {}", folder.display()),
        )
        .hint("choose a data folder that he can reach, for example --data /var/lib/suanli/server, or another user with --run-as");
    }
    if let Err(error) = give(data, uid, gid) {
        let what = format!("the data folder cannot be given to `{name}`");
        return Error::new(Cause::HostIncomplete, what).context(error);
    }
    let key_file = match secret_key::give(keys, uid, gid) {
        Ok(file) => file,
        Err(error) => return error,
    };
    // The path of the program may be closed to that user; the running image is not.
    let mut next = Command::new("/proc/self/exe");
    if agent == OwnAgent::Ours {
        next.env(STARTED, "1");
    }
    if let Some(file) = key_file {
        // The usual place is another one for that user.
        next.env(secret_key::FILE, file);
    }
    let failed = next
        .arg0("suanli")
        .args(std::env::args_os().skip(1))
        .env("HOME", data)
        .env("USER", &name)
        .uid(uid)
        .gid(gid)
        .exec();
    Error::new(Cause::HostIncomplete, format!("the server cannot go on as `{name}`")).context(failed)
}

/// Everything in the data folder but the agent's socket, which the agent owns.
fn give(folder: &Path, uid: u32, gid: u32) -> std::io::Result<()> {
    lchown(folder, Some(uid), Some(gid))?;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        if meta.is_dir() {
            give(&entry.path(), uid, gid)?;
        } else if meta.is_file() && (meta.uid(), meta.gid()) != (uid, gid) {
            // Not through a link: that user may have changed the entry since it was looked at.
            lchown(entry.path(), Some(uid), Some(gid))?;
        }
    }
    Ok(())
}

/// The named user, or `suanli` if there is one, or `nobody`.
pub fn user(wanted: Option<&str>) -> Result<(String, u32, u32), Error> {
    let text = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let names: &[&str] = match &wanted {
        Some(name) => &[*name],
        None => &["suanli", "nobody"],
    };
    for name in names {
        for line in text.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            if let [user, _, uid, gid, ..] = fields.as_slice()
                && user == name
                && let (Ok(uid), Ok(gid)) = (uid.parse(), gid.parse())
            {
                return Ok(((*name).to_owned(), uid, gid));
            }
        }
    }
    Err(Error::new(Cause::HostIncomplete, format!("this host has no user {}", names.join(" or ")))
        .hint("make one with `useradd --system suanli`, or name one with --run-as"))
}
