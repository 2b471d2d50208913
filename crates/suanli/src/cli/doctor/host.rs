//! What this host has of all that instances need.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Check, State};
use crate::output::bytes;

/// Less than this and the first instance fills the disk.
const ROOM: u64 = 5 * 1024 * 1024 * 1024;

/// Every check of this host.
pub fn checks() -> Vec<Check> {
    let mut checks = vec![root()];
    let tools = [
        ("bwrap", "bubblewrap", State::Missing, "instances are kept apart with it"),
        ("ip", "iproute2", State::Missing, "instances get their own network with it"),
        ("nft", "nftables", State::Missing, "instances are kept out of each other's network with it"),
        ("setpriv", "util-linux", State::Optional, "`suanli serve` started as root gives its rights up with it"),
        ("python3", "python3", State::Optional, "the demonstration runs a program in it"),
    ];
    for (tool, package, without, why) in tools {
        checks.push(match find(tool) {
            Some(path) => Check::ok(tool, path.display().to_string()),
            None => {
                Check::bad(tool, without, format!("not installed; {why}"), format!("install the package {package}"))
            }
        });
    }
    checks.push(sandbox());
    checks.extend(cgroups(Path::new("/sys/fs/cgroup")));
    checks.push(room(Path::new("/var/lib")));
    checks.push(cards());
    checks
}

fn root() -> Check {
    if rustix::process::geteuid().is_root() {
        Check::ok("root", "the agent can do its work as this user")
    } else {
        Check::bad(
            "root",
            State::Optional,
            "these checks run as an ordinary user; the agent needs root",
            "run `sudo suanli doctor` to check what the agent can do",
        )
    }
}

fn find(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // An ordinary user's PATH often lacks the folders of system tools.
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).map(|folder| folder.join(tool)).find(|file| file.is_file())
}

/// Makes a small sandbox, because what the settings say is not what the kernel does.
fn sandbox() -> Check {
    const NAME: &str = "user namespaces";
    let hint = "allow them: sysctl user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1, \
                kernel.apparmor_restrict_unprivileged_userns=0; in a container, start it privileged";
    let Some(bwrap) = find("bwrap") else {
        return Check::bad(NAME, State::Missing, "cannot be checked without bwrap", "install the package bubblewrap");
    };
    let tried = Command::new(bwrap)
        .args(["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"])
        .stdin(Stdio::null())
        .output();
    match tried {
        Ok(output) if output.status.success() => Check::ok(NAME, "a sandbox can be made"),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next().unwrap_or("it failed without a word").to_owned();
            Check::bad(NAME, State::Missing, format!("no sandbox can be made: {said}"), hint)
        }
        Err(error) => Check::bad(NAME, State::Missing, format!("bwrap cannot be started: {error}"), hint),
    }
}

fn cgroups(mount: &Path) -> Vec<Check> {
    const NAME: &str = "cgroups";
    let wanted = ["cpu", "memory", "pids"];
    let (version, present) = match std::fs::read_to_string(mount.join("cgroup.controllers")) {
        Ok(text) => ("v2", text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()),
        Err(_) => {
            let found = wanted.iter().filter(|name| mount.join(name).join("cgroup.procs").exists());
            ("v1", found.map(|name| (*name).to_owned()).collect())
        }
    };
    wanted
        .iter()
        .map(|name| {
            let title = format!("{NAME}: {name}");
            if present.iter().any(|have| have == name) {
                Check::ok(&title, version)
            } else {
                Check::bad(
                    &title,
                    State::Optional,
                    format!("this controller is not there (cgroup {version}); such a limit cannot be set"),
                    "start the host with cgroup v2 (systemd.unified_cgroup_hierarchy=1), or mount /sys/fs/cgroup into the container",
                )
            }
        })
        .collect()
}

fn room(folder: &Path) -> Check {
    const NAME: &str = "disk";
    let folder = if folder.is_dir() { folder } else { Path::new("/") };
    match rustix::fs::statvfs(folder) {
        Ok(about) => {
            let free = about.f_bavail.saturating_mul(about.f_frsize);
            let found = format!("{} free in {}", bytes(free), folder.display());
            if free >= ROOM {
                Check::ok(NAME, found)
            } else {
                Check::bad(NAME, State::Missing, found, format!("make room: at least {}", bytes(ROOM)))
            }
        }
        Err(error) => Check::bad(
            NAME,
            State::Missing,
            format!("{} cannot be looked at: {error}", folder.display()),
            "mend the file system",
        ),
    }
}

#[cfg(feature = "server")]
fn cards() -> Check {
    const NAME: &str = "GPUs";
    let fake = "or try things out with fake cards: `suanli serve --fake-gpus PROFILE.toml`";
    let seen = devices::Nvml::load(None).and_then(|nvml| nvml.facts());
    match seen {
        Ok(facts) if facts.is_empty() => Check::bad(NAME, State::Optional, "the driver sees no card", fake),
        Ok(facts) => {
            let names: Vec<_> =
                facts.iter().map(|f| if f.fake { format!("{} (fake)", f.name) } else { f.name.clone() }).collect();
            Check::ok(NAME, names.join(", "))
        }
        Err(error) => {
            let hint = match error.hint_text() {
                Some(hint) if hint.contains("fake") => hint.to_owned(),
                Some(hint) => format!("{hint}; {fake}"),
                None => fake.to_owned(),
            };
            Check::bad(NAME, State::Optional, error.message(), hint)
        }
    }
}

#[cfg(not(feature = "server"))]
fn cards() -> Check {
    Check::bad(
        "GPUs",
        State::Missing,
        "this program is the command line alone: it has neither server nor agent",
        "install the full `suanli` where a server or an agent is to run",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn controllers_are_found_in_both_versions() {
        let folder = tempfile::tempdir().unwrap();
        let states = || cgroups(folder.path()).into_iter().map(|check| check.state).collect::<Vec<_>>();
        assert_eq!(states(), [State::Optional; 3]);
        fs::create_dir(folder.path().join("memory")).unwrap();
        fs::write(folder.path().join("memory/cgroup.procs"), "").unwrap();
        assert_eq!(states(), [State::Optional, State::Ok, State::Optional]);
        fs::write(folder.path().join("cgroup.controllers"), "cpuset cpu io pids\n").unwrap();
        assert_eq!(states(), [State::Ok, State::Optional, State::Ok]);
    }

    #[test]
    fn everything_that_is_not_ok_says_how_to_mend_it() {
        for check in checks() {
            assert_eq!(check.state == State::Ok, check.hint.is_none(), "{}", check.name);
        }
    }
}
