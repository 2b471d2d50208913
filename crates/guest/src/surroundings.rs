//! Environment, home directory and login shell of everything started inside.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Environment of everything started inside.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The variables, complete.
    pub env: BTreeMap<OsString, OsString>,
    /// `$HOME`.
    pub home: PathBuf,
}

/// What `/etc/passwd` says of a user. Read here because a static program cannot
/// ask the name service.
#[derive(Debug, Default, PartialEq, Eq)]
struct Passwd {
    name: Option<OsString>,
    home: Option<OsString>,
    shell: Option<OsString>,
}

impl Surroundings {
    /// The inherited environment, with defaults for what is unset or empty.
    pub fn inherited() -> Self {
        let passwd = std::fs::read("/etc/passwd").unwrap_or_default();
        Self::complete(std::env::vars_os().collect(), rustix::process::getuid().as_raw(), &passwd)
    }

    fn complete(mut env: BTreeMap<OsString, OsString>, uid: u32, passwd: &[u8]) -> Self {
        let user = entry(passwd, uid);
        let mut default = |name: &str, value: OsString| {
            let slot = env.entry(name.into()).or_default();
            if slot.is_empty() {
                *slot = value;
            }
            slot.clone()
        };
        let home = user.home.unwrap_or_else(|| {
            let places = if uid == 0 { ["/root", "/workspace"] } else { ["/workspace", "/tmp"] };
            places.into_iter().find(|place| Path::new(place).is_dir()).unwrap_or("/").into()
        });
        let home = PathBuf::from(default("HOME", home));
        let name = default("USER", user.name.unwrap_or_else(|| if uid == 0 { "root" } else { "user" }.into()));
        default("LOGNAME", name);
        let shell = user.shell.filter(|shell| Path::new(shell).is_file());
        default("SHELL", shell.unwrap_or_else(|| known_shell().into()));
        default("PATH", PATH.into());
        default("LANG", "C.UTF-8".into());
        Self { env, home }
    }

    /// Home directory, or `/` where it does not exist.
    pub fn working_directory(&self) -> &Path {
        if self.home.is_dir() { &self.home } else { Path::new("/") }
    }

    /// A path of the caller: absolute, or relative to the home directory.
    pub fn resolve(&self, path: &str) -> PathBuf {
        self.working_directory().join(path)
    }
}

/// The login shell that `env` names, or one that exists.
pub fn login_shell(env: &BTreeMap<OsString, OsString>) -> OsString {
    match env.get(&OsString::from("SHELL")) {
        Some(shell) if Path::new(shell).is_file() => shell.clone(),
        _ => known_shell().into(),
    }
}

fn known_shell() -> &'static str {
    if Path::new("/bin/bash").is_file() { "/bin/bash" } else { "/bin/sh" }
}

fn entry(passwd: &[u8], uid: u32) -> Passwd {
    for line in passwd.split(|byte| *byte == b'\n') {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
        if fields.len() < 7 || fields[2] != uid.to_string().as_bytes() {
            continue;
        }
        let field = |at: usize| (!fields[at].is_empty()).then(|| OsString::from_vec(fields[at].to_vec()));
        return Passwd { name: field(0), home: field(5), shell: field(6) };
    }
    Passwd::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn var(surroundings: &Surroundings, name: &str) -> String {
        surroundings.env[&OsString::from(name)].to_string_lossy().into_owned()
    }

    #[test]
    fn defaults_fill_only_what_is_missing() {
        let passwd = b"root:x:0:0::/root:/bin/sh\nada:x:77:77:Ada:/home/ada:/bin/sh\n";
        let env = [("HOME".into(), "/elsewhere".into()), ("LANG".into(), "".into())].into();
        let made = Surroundings::complete(env, 77, passwd);
        assert_eq!(made.home, Path::new("/elsewhere"));
        assert_eq!(var(&made, "HOME"), "/elsewhere");
        assert_eq!(var(&made, "USER"), "ada");
        assert_eq!(var(&made, "LOGNAME"), "ada");
        assert_eq!(var(&made, "SHELL"), "/bin/sh");
        assert_eq!(var(&made, "PATH"), PATH);
        assert_eq!(var(&made, "LANG"), "C.UTF-8");
        assert_eq!(made.resolve("/abs"), Path::new("/abs"));
    }

    #[test]
    fn broken_passwd_is_no_obstacle() {
        for text in [&b""[..], b"::::", b"x:y:77", b"\xff:\xff:77:::\xff:"] {
            let made = Surroundings::complete(BTreeMap::new(), 77, text);
            assert!(made.working_directory().is_dir());
            assert!(!var(&made, "SHELL").is_empty());
        }
    }
}
