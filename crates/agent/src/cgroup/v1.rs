//! One hierarchy for every controller.

use std::path::{Path, PathBuf};

use super::{Limits, PARENT, Usage, keyed, number, set};

const CONTROLLERS: [(&str, Option<&str>); 4] = [
    ("cpu", Some("CPU use")),
    ("memory", Some("memory")),
    ("pids", Some("the number of processes")),
    // Only counts; without it the use of CPU is unknown, which is no missing limit.
    ("cpuacct", None),
];

/// The hierarchies that this host has, each with the parent group of all instances.
#[derive(Clone, Debug)]
pub struct Hierarchies {
    parents: Vec<(&'static str, PathBuf)>,
}

impl Hierarchies {
    /// Makes the parent groups; what cannot be limited goes to `missing`. `None`
    /// when no group can be made at all.
    pub fn prepare(mount: &Path, missing: &mut Vec<String>) -> Option<Self> {
        let mut parents = Vec::new();
        for (controller, what) in CONTROLLERS {
            let hierarchy = mount.join(controller);
            // Every real hierarchy has this file; an empty folder is no hierarchy.
            let usable = hierarchy.join("cgroup.procs").exists();
            let parent = hierarchy.join(PARENT);
            match std::fs::create_dir_all(&parent) {
                Ok(()) if usable => parents.push((controller, parent)),
                outcome => {
                    tracing::warn!(?outcome, controller, "a controller cannot be used");
                    missing.extend(what.map(str::to_owned));
                }
            }
        }
        (!parents.is_empty()).then_some(Self { parents })
    }

    /// Whether this controller can be used.
    pub fn has(&self, controller: &str) -> bool {
        self.parents.iter().any(|(name, _)| *name == controller)
    }

    /// The group of one instance in a controller's hierarchy.
    pub fn folder(&self, controller: &str, unit: &str) -> Option<PathBuf> {
        self.parents.iter().find(|(name, _)| *name == controller).map(|(_, parent)| parent.join(unit))
    }

    /// The groups of one instance.
    pub fn folders(&self, unit: &str) -> Vec<PathBuf> {
        self.parents.iter().map(|(_, parent)| parent.join(unit)).collect()
    }

    /// Sets the limits; what could not be set and why.
    pub fn limit(&self, unit: &str, limits: Limits) -> Vec<(&'static str, String)> {
        let mut failed = Vec::new();
        let memory = limits.memory_mib.saturating_mul(1 << 20).to_string();
        let values = [
            ("cpu", "cpu.cfs_quota_us", "CPU use", limits.cpus.saturating_mul(100_000).to_string()),
            ("memory", "memory.limit_in_bytes", "memory", memory.clone()),
            ("pids", "pids.max", "the number of processes", limits.processes.to_string()),
        ];
        for (controller, file, what, value) in values {
            if let Some(folder) = self.folder(controller, unit)
                && let Err(error) = set(&folder, file, &value)
            {
                failed.push((what, error));
            }
        }
        if let Some(folder) = self.folder("memory", unit)
            && folder.join("memory.memsw.limit_in_bytes").exists()
        {
            // Swapping would let one instance slow the disk of all.
            let _ = set(&folder, "memory.memsw.limit_in_bytes", &memory);
        }
        failed
    }
}

/// What the processes of a group use now; `group` tells its folder in a controller's
/// hierarchy.
pub fn usage(group: impl Fn(&'static str) -> Option<PathBuf>) -> Usage {
    let file = |controller, name| group(controller).map(|f| f.join(name));
    let memory = file("memory", "memory.usage_in_bytes").as_deref().and_then(number).map(|bytes| {
        let stat = file("memory", "memory.stat");
        bytes - stat.as_deref().and_then(|s| keyed(s, "total_inactive_file")).unwrap_or(0)
    });
    Usage {
        cpu_us: file("cpuacct", "cpuacct.usage").as_deref().and_then(number).map(|nanos| nanos / 1_000),
        memory_bytes: memory.map(|bytes| bytes.max(0)),
        processes: file("pids", "pids.current").as_deref().and_then(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn missing_controllers_are_named() {
        let dir = tempfile::tempdir().unwrap();
        for controller in ["memory", "cpuacct"] {
            fs::create_dir(dir.path().join(controller)).unwrap();
            fs::write(dir.path().join(controller).join("cgroup.procs"), "").unwrap();
        }
        let mut missing = Vec::new();
        let h = Hierarchies::prepare(dir.path(), &mut missing).unwrap();
        assert_eq!(missing, ["CPU use", "the number of processes"]);
        assert!(h.has("memory") && !h.has("pids"));
        for folder in h.folders("x-1") {
            fs::create_dir(folder).unwrap();
        }
        let failed = h.limit("x-1", Limits { cpus: 1, memory_mib: 3, processes: 9 });
        assert_eq!(failed, Vec::new());
        let limit = dir.path().join("memory/suanli/x-1/memory.limit_in_bytes");
        assert_eq!(fs::read_to_string(limit).unwrap(), "3145728");
    }

    #[test]
    fn a_host_without_groups_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let groups = super::super::Cgroups::detect(dir.path());
        assert_eq!(groups.notices().len(), 1);
        assert!(groups.notices()[0].contains("no control groups"));
        assert!(!groups.limits_processes());
    }
}
