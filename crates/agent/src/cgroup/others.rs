//! Control groups that somebody else has made, found by a process in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Usage, v1, v2};

const MOUNT: &str = "/sys/fs/cgroup";
/// How Incus's groups of an instance begin; what is below is the instance's own business.
const PAYLOAD: &str = "lxc.payload.";

/// The groups of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Others {
    /// By controller; the unified hierarchy has no name.
    groups: BTreeMap<String, PathBuf>,
}

impl Others {
    /// The groups of the container that `pid` is in; `None` when it is in none.
    pub fn of(pid: i32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?, Path::new(MOUNT))
    }

    /// From the text of `/proc/PID/cgroup`: `4:memory:/lxc.payload.a/init.scope`.
    fn parse(text: &str, mount: &Path) -> Option<Self> {
        let mut groups = BTreeMap::new();
        for line in text.lines() {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let Some(path) = payload(path) else { continue };
            for controller in controllers.split(',') {
                let controller = controller.trim_start_matches("name=");
                groups.insert(controller.to_owned(), mount.join(controller).join(&path));
            }
        }
        (!groups.is_empty()).then_some(Self { groups })
    }

    /// What the processes in them use now.
    pub fn usage(&self) -> Usage {
        match self.groups.get("") {
            Some(unified) if self.groups.len() == 1 => v2::usage(unified),
            _ => v1::usage(|controller| self.groups.get(controller).cloned()),
        }
    }

    /// The processes in them and in the groups that were made below.
    pub fn pids(&self) -> Vec<i32> {
        let first = ["pids", "memory", ""].iter().find_map(|name| self.groups.get(*name));
        let mut pids = Vec::new();
        let mut folders: Vec<PathBuf> = first.cloned().into_iter().collect();
        while let Some(folder) = folders.pop() {
            let text = std::fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            pids.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
            let below = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            folders.extend(below.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()));
        }
        pids.sort_unstable();
        pids.dedup();
        pids
    }
}

/// The part of a path that ends with the container's own group, relative.
fn payload(path: &str) -> Option<PathBuf> {
    let mut kept = PathBuf::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        kept.push(part);
        if part.starts_with(PAYLOAD) {
            return Some(kept);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_a_container_are_found_on_both_versions() {
        let v1 = "5:memory:/lxc.payload.suanli_a-g1/x\n4:cpu,cpuacct:/lxc.payload.suanli_a-g1\n1:name=systemd:/lxc.payload.suanli_a-g1/init.scope\n0::/\n";
        let found = Others::parse(v1, Path::new("/m")).unwrap();
        assert_eq!(found.groups["memory"], Path::new("/m/memory/lxc.payload.suanli_a-g1"));
        assert_eq!(found.groups["cpuacct"], Path::new("/m/cpuacct/lxc.payload.suanli_a-g1"));
        let v2 = "0::/lxc.payload.suanli_a-g1/init.scope\n";
        let found = Others::parse(v2, Path::new("/m")).unwrap();
        assert_eq!(found.groups[""], Path::new("/m/lxc.payload.suanli_a-g1"));
        assert_eq!(Others::parse("0::/system.slice/x.service\n", Path::new("/m")), None);
    }
}
