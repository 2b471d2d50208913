//! The instance's own /etc: its own users, names and profile, and those files of
//! the host that programs need and that tell nothing of the host's people.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use base::Result;

use crate::files;

/// Name of the renter's user inside.
pub const USER: &str = "renter";
/// User and group id inside.
pub const UID: u32 = 1000;
/// Home directory inside.
pub const HOME: &str = "/home/renter";

/// Entries of the host's /etc that show inside, read-only. Never users, secrets,
/// service settings or anything of the host's network.
const SHARED: &[&str] = &[
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "debian_version",
    "fonts",
    "glvnd",
    "inputrc",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "magic",
    "magic.mime",
    "mime.types",
    "nvidia",
    "OpenCL",
    "os-release",
    "pki/ca-trust",
    "protocols",
    "python3",
    "rpc",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "vulkan",
];

const PROFILE: &str = r#"# Settings of login shells inside an instance.
export PATH="${PATH:-/usr/local/bin:/usr/bin:/bin}"
export LANG="${LANG:-C.UTF-8}"
case "$PATH" in *"$HOME/.local/bin"*) ;; *) export PATH="$HOME/.local/bin:$PATH" ;; esac
umask 022
"#;

const BASHRC: &str = r#"# Settings of interactive shells inside an instance.
case $- in *i*) ;; *) return ;; esac
PS1='\u@\h:\w\$ '
"#;

/// A host path that shows inside at another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Path on the host.
    pub from: PathBuf,
    /// Path inside.
    pub at: String,
}

/// Writes the private files into `folder` and prepares the places for the shared
/// ones; which host entries to mount where.
///
/// # Errors
/// As [`files::replace`].
pub fn write(folder: &Path, slug: &str, resolvers: &[Ipv4Addr], ld_cache: Option<&Path>) -> Result<Vec<Shown>> {
    files::folder(folder, 0o755, None)?;
    let resolv: String = resolvers.iter().map(|r| format!("nameserver {r}\n")).collect();
    let own = [
        (
            "passwd",
            format!(
                "root:x:0:0:root:/root:/usr/sbin/nologin\n{USER}:x:{UID}:{UID}:renter:{HOME}:/bin/bash\n\
                 nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
            ),
        ),
        ("group", format!("root:x:0:\ntty:x:5:\n{USER}:x:{UID}:\nnogroup:x:65534:\n")),
        ("hosts", format!("127.0.0.1 localhost\n::1 localhost\n127.0.1.1 {slug}\n")),
        ("hostname", format!("{slug}\n")),
        ("resolv.conf", resolv),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nprotocols: files\nservices: files\n".into()),
        ("host.conf", "multi on\n".into()),
        ("shells", "/bin/sh\n/bin/bash\n".into()),
        ("profile", PROFILE.into()),
        ("bash.bashrc", BASHRC.into()),
    ];
    for (name, text) in own {
        files::replace(&folder.join(name), text.as_bytes(), 0o644, false)?;
    }
    let host = Path::new("/etc");
    let mut shown: Vec<Shown> = SHARED
        .iter()
        .map(|name| (host.join(name), (*name).to_owned()))
        .chain(versioned(host))
        .filter(|(from, _)| from.exists())
        .map(|(from, name)| Shown { from, at: name })
        .collect();
    let cache = ld_cache.map_or_else(|| host.join("ld.so.cache"), Path::to_owned);
    if cache.exists() {
        shown.push(Shown { from: cache, at: "ld.so.cache".into() });
    }
    for entry in &mut shown {
        place(folder, &entry.from, &entry.at)?;
        entry.at = format!("/etc/{}", entry.at);
    }
    Ok(shown)
}

/// Folders whose names carry a version.
fn versioned(host: &Path) -> Vec<(PathBuf, String)> {
    let named = |name: &str| {
        name.strip_prefix("python3.").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
            || (name.starts_with("java-") && name.ends_with("-openjdk"))
    };
    let entries = fs::read_dir(host).into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().into_string().ok()).filter(|n| named(n)).map(|n| (host.join(&n), n)).collect()
}

/// A mount needs something of its own kind to cover.
fn place(folder: &Path, from: &Path, name: &str) -> Result<()> {
    let path = folder.join(name);
    let make = || {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        if from.is_dir() { fs::create_dir_all(&path) } else { fs::write(&path, "") }
    };
    make().map_err(|e| files::error("prepare", &path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_people_do_not_show() {
        let dir = tempfile::tempdir().unwrap();
        let etc = dir.path().join("etc");
        let shown = write(&etc, "abcdefghjk", &[Ipv4Addr::new(192, 0, 2, 1)], None).unwrap();
        let again = write(&etc, "abcdefghjk", &[Ipv4Addr::new(192, 0, 2, 1)], None).unwrap();
        assert_eq!(shown, again);
        let passwd = fs::read_to_string(etc.join("passwd")).unwrap();
        assert_eq!(passwd.lines().count(), 3);
        assert_eq!(fs::read_to_string(etc.join("resolv.conf")).unwrap(), "nameserver 192.0.2.1\n");
        for secret in ["passwd", "shadow", "group", "gshadow", "ssh", "hosts", "machine-id", "ssl", "ssl/private"] {
            assert!(shown.iter().all(|s| s.at != format!("/etc/{secret}")), "{secret}");
        }
        assert!(shown.iter().all(|s| etc.join(s.at.trim_start_matches("/etc/")).exists()));
    }
}
