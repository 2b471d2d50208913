//! What bubblewrap is told: which parts of the host an instance sees.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::etc_files::{HOME, Shown, UID, USER};
use super::nodes::Node;

/// Where the helper is inside.
pub const GUEST: &str = "/opt/suanli/guest";
/// Where the helper listens inside.
pub const SOCKET: &str = "/run/suanli/guest.sock";
/// Folder of the fake cards' library inside.
pub const FAKE_LIB: &str = "/opt/suanli/lib";
/// What the fake cards' library reads inside.
pub const FAKE_STATE: &str = "/opt/suanli/cards.toml";

/// Everything that goes into one sandbox. Paths are those that bubblewrap sees.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Host name inside.
    pub slug: &'a str,
    /// Folder of the instance.
    pub root: &'a Path,
    /// The helper's binary.
    pub guest: &'a Path,
    /// Folder with the fake cards' library, where the cards are fake.
    pub fake_lib: Option<&'a Path>,
    /// Entries of the host's /etc that show.
    pub etc: &'a [Shown],
    /// Device nodes that show.
    pub nodes: &'a [Node],
    /// Environment of everything inside.
    pub env: &'a BTreeMap<String, String>,
    /// Whether bubblewrap has to make a network namespace with loopback only.
    pub loopback_only: bool,
    /// Descriptors with the system call filters, applied in this order.
    pub filters: &'a [i32],
    /// Descriptor to which bubblewrap writes the first process's number.
    pub info: i32,
}

/// The part of the host's root that is the same for every instance.
#[derive(Clone, Debug)]
pub struct Base {
    links: Vec<(PathBuf, &'static str)>,
    folders: Vec<&'static str>,
}

impl Base {
    /// Looks at how the host lays out its programs.
    pub fn detect() -> Self {
        let mut base = Self { links: Vec::new(), folders: vec!["/usr"] };
        for name in ["/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin"] {
            match std::fs::read_link(name) {
                Ok(target) => base.links.push((target, name)),
                Err(_) if Path::new(name).is_dir() => base.folders.push(name),
                Err(_) => {}
            }
        }
        // Programs ask here how many cores and memory nodes there are.
        for name in ["/sys/devices/system/cpu", "/sys/devices/system/node"] {
            if Path::new(name).is_dir() {
                base.folders.push(name);
            }
        }
        base
    }

    /// Options that make the namespaces and the read-only base.
    pub fn options(&self) -> Vec<String> {
        let mut all = words(&[
            "--unshare-user",
            "--uid",
            &UID.to_string(),
            "--gid",
            &UID.to_string(),
            "--disable-userns",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
            "--new-session",
            "--as-pid-1",
        ]);
        for folder in &self.folders {
            all.extend(words(&["--ro-bind", folder, folder]));
        }
        for (target, name) in &self.links {
            all.extend(["--symlink".to_owned(), path(target), (*name).to_owned()]);
        }
        all.extend(words(&["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/run", "--symlink", "/run", "/var/run"]));
        for shared in ["/tmp", "/var/tmp"] {
            all.extend(words(&["--perms", "1777", "--tmpfs", shared]));
        }
        all
    }

    /// The whole command line for one instance, without the program inside.
    pub fn arguments(&self, plan: &Plan<'_>) -> Vec<String> {
        let inside = |name: &str| path(&plan.root.join(name));
        let mut all = self.options();
        all.extend(words(&["--hostname", plan.slug, "--chdir", HOME, "--clearenv"]));
        for (name, value) in plan.env {
            all.extend(words(&["--setenv", name, value]));
        }
        if plan.loopback_only {
            all.push("--unshare-net".into());
        }
        all.extend(words(&["--bind", &inside("home"), HOME, "--bind", &inside("workspace"), "/workspace"]));
        all.extend(words(&["--bind", &inside("run"), "/run/suanli", "--ro-bind", &inside("opt"), "/opt/suanli"]));
        all.extend(words(&["--ro-bind", &path(plan.guest), GUEST]));
        if let Some(lib) = plan.fake_lib {
            all.extend(words(&["--ro-bind", &path(lib), FAKE_LIB]));
        }
        all.extend(words(&["--ro-bind", &inside("etc"), "/etc"]));
        for entry in plan.etc {
            all.extend(words(&["--ro-bind-try", &path(&entry.from), &entry.at]));
        }
        for node in plan.nodes {
            all.extend(words(&["--dev-bind", &path(&node.from), &node.at]));
        }
        all.extend(words(&["--remount-ro", "/"]));
        for filter in plan.filters {
            all.extend(words(&["--add-seccomp-fd", &filter.to_string()]));
        }
        all.extend(words(&["--info-fd", &plan.info.to_string()]));
        all
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|w| (*w).to_owned()).collect()
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The environment of everything inside: the renter's wishes over these defaults.
pub fn environment(slug: &str, wished: &BTreeMap<String, String>, fake: bool) -> BTreeMap<String, String> {
    let mut env = BTreeMap::from(
        [
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
            ("LANG", "C.UTF-8"),
            ("SHELL", "/bin/bash"),
            ("TERM", "xterm-256color"),
            ("SUANLI_WORKSPACE", "/workspace"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    env.extend(wished.clone());
    env.insert("HOME".into(), HOME.into());
    env.insert("USER".into(), USER.into());
    env.insert("LOGNAME".into(), USER.into());
    // The mark by which its processes are found where instances share a user.
    env.insert("SUANLI_SLUG".into(), slug.into());
    if fake {
        env.insert("FAKE_NVML_STATE".into(), FAKE_STATE.into());
    }
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_read_only_and_the_wishes_stay_inside() {
        let wished = BTreeMap::from([("LD_PRELOAD".to_owned(), "/workspace/x.so".to_owned())]);
        let env = environment("abcdefghjk", &wished, true);
        let plan = Plan {
            slug: "abcdefghjk",
            root: Path::new("/srv/i"),
            guest: Path::new("/srv/guest"),
            fake_lib: None,
            etc: &[],
            nodes: &[],
            env: &env,
            loopback_only: true,
            filters: &[7, 8],
            info: 9,
        };
        let all = Base::detect().arguments(&plan);
        let text = all.join(" ");
        assert!(text.contains("--clearenv") && text.contains("--setenv LD_PRELOAD /workspace/x.so"));
        assert!(text.contains("--disable-userns") && !text.contains("--die-with-parent"));
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} is missing"));
        assert!(at("/srv/i/workspace") < at("--remount-ro /"));
        assert!(text.contains("--add-seccomp-fd 7 --add-seccomp-fd 8"));
    }

    #[test]
    fn the_home_is_not_for_the_renter_to_move() {
        let wished = BTreeMap::from([("HOME".to_owned(), "/tmp".to_owned()), ("A".to_owned(), "1".to_owned())]);
        let env = environment("abcdefghjk", &wished, false);
        assert_eq!((env["HOME"].as_str(), env["A"].as_str()), (HOME, "1"));
        assert!(!env.contains_key("FAKE_NVML_STATE"));
    }
}
