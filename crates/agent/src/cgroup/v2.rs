//! The unified hierarchy.

use std::path::{Path, PathBuf};

use super::{Limits, PARENT, Usage, keyed, number, set};

const CONTROLLERS: [(&str, &str); 3] = [("cpu", "CPU use"), ("memory", "memory"), ("pids", "the number of processes")];

/// The unified hierarchy with the parent group of all instances.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    parent: PathBuf,
    controllers: Vec<&'static str>,
}

impl Hierarchy {
    /// Makes the parent group and hands the controllers down to it; what cannot
    /// be limited goes to `missing`. `None` when no group can be made at all.
    pub fn prepare(mount: &Path, missing: &mut Vec<String>) -> Option<Self> {
        let parent = mount.join(PARENT);
        if let Err(error) = std::fs::create_dir_all(&parent) {
            tracing::warn!(%error, "control groups cannot be made");
            return None;
        }
        let mut controllers = Vec::new();
        for (controller, what) in CONTROLLERS {
            let order = format!("+{controller}");
            // Already handed down by somebody else is as good, so only the result counts.
            let _ = set(mount, "cgroup.subtree_control", &order);
            match set(&parent, "cgroup.subtree_control", &order) {
                Ok(()) => controllers.push(controller),
                Err(error) => {
                    tracing::warn!(%error, controller, "a controller cannot be used");
                    missing.push(what.to_owned());
                }
            }
        }
        Some(Self { parent, controllers })
    }

    /// Whether this controller can be used.
    pub fn has(&self, controller: &str) -> bool {
        self.controllers.contains(&controller)
    }

    /// The group of one instance.
    pub fn folder(&self, unit: &str) -> PathBuf {
        self.parent.join(unit)
    }

    /// Sets the limits; what could not be set and why.
    pub fn limit(&self, unit: &str, limits: Limits) -> Vec<(&'static str, String)> {
        let folder = self.folder(unit);
        let mut failed = Vec::new();
        let values = [
            ("cpu", "cpu.max", "CPU use", format!("{} 100000", limits.cpus.saturating_mul(100_000))),
            ("memory", "memory.max", "memory", limits.memory_mib.saturating_mul(1 << 20).to_string()),
            ("pids", "pids.max", "the number of processes", limits.processes.to_string()),
        ];
        for (controller, file, what, value) in values {
            if self.has(controller)
                && let Err(error) = set(&folder, file, &value)
            {
                failed.push((what, error));
            }
        }
        if folder.join("memory.swap.max").exists() {
            // Swapping would let one instance slow the disk of all.
            let _ = set(&folder, "memory.swap.max", "0");
        }
        failed
    }

    /// Kills the whole group at once, where the kernel can.
    pub fn kill(&self, unit: &str) {
        // Older kernels lack the file; the caller kills one by one afterwards.
        let _ = set(&self.folder(unit), "cgroup.kill", "1");
    }
}

/// What the processes of a group use now.
pub fn usage(folder: &Path) -> Usage {
    let memory = number(&folder.join("memory.current"))
        .map(|bytes| bytes - keyed(&folder.join("memory.stat"), "inactive_file").unwrap_or(0));
    Usage {
        cpu_us: keyed(&folder.join("cpu.stat"), "usage_usec"),
        memory_bytes: memory.map(|bytes| bytes.max(0)),
        processes: number(&folder.join("pids.current")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A folder that looks like the unified hierarchy as far as plain files can.
    fn look_alike() -> (tempfile::TempDir, Hierarchy) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("cgroup.controllers"), "cpu memory pids").unwrap();
        let mut missing = Vec::new();
        let hierarchy = Hierarchy::prepare(dir.path(), &mut missing).unwrap();
        assert_eq!(missing, Vec::<String>::new());
        fs::create_dir(hierarchy.folder("x-1")).unwrap();
        (dir, hierarchy)
    }

    #[test]
    fn limits_are_written_in_the_kernels_units() {
        let (_dir, h) = look_alike();
        let failed = h.limit("x-1", Limits { cpus: 4, memory_mib: 512, processes: 100 });
        assert_eq!(failed, Vec::new());
        let read = |file: &str| fs::read_to_string(h.folder("x-1").join(file)).unwrap();
        assert_eq!(read("cpu.max"), "400000 100000");
        assert_eq!(read("memory.max"), "536870912");
        assert_eq!(read("pids.max"), "100");
    }

    #[test]
    fn usage_is_read_and_cache_does_not_count() {
        let (_dir, h) = look_alike();
        let write = |file: &str, text: &str| fs::write(h.folder("x-1").join(file), text).unwrap();
        write("cpu.stat", "usage_usec 1500\nuser_usec 1000\n");
        write("memory.current", "5000\n");
        write("memory.stat", "anon 1\ninactive_file 2000\n");
        write("pids.current", "3\n");
        let usage = Usage { cpu_us: Some(1_500), memory_bytes: Some(3_000), processes: Some(3) };
        assert_eq!(super::usage(&h.folder("x-1")), usage);
        assert_eq!(super::usage(&h.folder("gone")), Usage::default());
    }
}
