//! Limits and accounting of one instance, on either version of control groups.

mod others;
mod v1;
mod v2;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::Result;

pub use others::Others;

/// Parent of all instances' groups: beside, never below, the agent's own, so that
/// stopping the agent's service touches no instance.
const PARENT: &str = "suanli";

/// What one instance may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// CPU cores.
    pub cpus: i64,
    /// Memory, MiB.
    pub memory_mib: i64,
    /// Processes and threads.
    pub processes: i64,
}

/// What one instance uses; `None` where this host does not count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time since the group was made, microseconds.
    pub cpu_us: Option<i64>,
    /// Memory that cannot be taken back at once, bytes.
    pub memory_bytes: Option<i64>,
    /// Processes and threads.
    pub processes: Option<i64>,
}

impl Usage {
    /// What is known here, and for the rest what `other` knows.
    pub fn or(self, other: Self) -> Self {
        Self {
            cpu_us: self.cpu_us.or(other.cpu_us),
            memory_bytes: self.memory_bytes.or(other.memory_bytes),
            processes: self.processes.or(other.processes),
        }
    }
}

/// The control groups of this host.
#[derive(Clone, Debug)]
pub struct Cgroups {
    version: Version,
    notices: Vec<String>,
}

#[derive(Clone, Debug)]
enum Version {
    V2(v2::Hierarchy),
    V1(v1::Hierarchies),
    None,
}

impl Cgroups {
    /// Finds out what the host has and prepares the parent groups.
    pub fn detect(mount: &Path) -> Self {
        let mut missing = Vec::new();
        let version = if mount.join("cgroup.controllers").exists() {
            v2::Hierarchy::prepare(mount, &mut missing).map(Version::V2)
        } else {
            v1::Hierarchies::prepare(mount, &mut missing).map(Version::V1)
        };
        let notices = missing.iter().map(|what| format!("{what} is not limited on this host")).collect();
        match version {
            Some(version) => Self { version, notices },
            None => Self::none(),
        }
    }

    /// A host without usable control groups.
    pub fn none() -> Self {
        let notice = "CPU and memory are not limited on this host: it has no control groups that the agent may use";
        Self { version: Version::None, notices: vec![notice.into()] }
    }

    /// What cannot be limited on this host, in sentences.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Whether the number of processes can be limited by a group.
    pub fn limits_processes(&self) -> bool {
        match &self.version {
            Version::V2(h) => h.has("pids"),
            Version::V1(h) => h.has("pids"),
            Version::None => false,
        }
    }

    /// The folders of one instance's groups.
    fn folders(&self, unit: &str) -> Vec<PathBuf> {
        match &self.version {
            Version::V2(h) => vec![h.folder(unit)],
            Version::V1(h) => h.folders(unit),
            Version::None => Vec::new(),
        }
    }

    /// Makes the groups of `unit` and sets its limits; sentences about limits that
    /// could not be set. Repeating it is fine.
    ///
    /// # Errors
    /// `engine-failed` when a group cannot be made.
    pub fn create(&self, unit: &str, limits: Limits) -> Result<Vec<String>> {
        for folder in self.folders(unit) {
            match std::fs::create_dir(&folder) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                other => other.map_err(|e| crate::files::error("create the control group", &folder, &e))?,
            }
        }
        let failed = match &self.version {
            Version::V2(h) => h.limit(unit, limits),
            Version::V1(h) => h.limit(unit, limits),
            Version::None => Vec::new(),
        };
        Ok(failed.into_iter().map(|(what, e)| format!("{what} is not limited on this host: {e}")).collect())
    }

    /// Files to which a process writes `0` to put itself into the groups.
    ///
    /// # Errors
    /// `engine-failed` when the groups are gone.
    pub fn entrances(&self, unit: &str) -> Result<Vec<File>> {
        let open = |folder: PathBuf| {
            let path = folder.join("cgroup.procs");
            File::options().write(true).open(&path).map_err(|e| crate::files::error("open", &path, &e))
        };
        self.folders(unit).into_iter().map(open).collect()
    }

    /// What the instance uses now.
    pub fn usage(&self, unit: &str) -> Usage {
        match &self.version {
            Version::V2(h) => v2::usage(&h.folder(unit)),
            Version::V1(h) => v1::usage(|controller| h.folder(controller, unit)),
            Version::None => Usage::default(),
        }
    }

    /// Processes in the groups, host numbers.
    pub fn pids(&self, unit: &str) -> Vec<i32> {
        let mut pids: Vec<i32> = self
            .folders(unit)
            .iter()
            .filter_map(|f| std::fs::read_to_string(f.join("cgroup.procs")).ok())
            .flat_map(|text| text.lines().filter_map(|l| l.parse().ok()).collect::<Vec<_>>())
            .collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// Kills everything in the groups; false when something is left after a while.
    pub async fn kill(&self, unit: &str) -> bool {
        if let Version::V2(h) = &self.version {
            h.kill(unit);
        }
        crate::process::kill_all(|| self.pids(unit), 500).await
    }

    /// Removes the groups; missing ones are fine.
    ///
    /// # Errors
    /// `engine-failed` when something still lives in them.
    pub async fn remove(&self, unit: &str) -> Result<()> {
        for folder in self.folders(unit) {
            let mut tries = 0;
            loop {
                match std::fs::remove_dir(&folder) {
                    Ok(()) => break,
                    Err(e) if e.kind() == io::ErrorKind::NotFound => break,
                    // The kernel takes a moment to let go of the dead.
                    Err(e) if e.raw_os_error() == Some(libc::EBUSY) && tries < 500 => {
                        tries += 1;
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                    Err(e) => return Err(crate::files::error("remove the control group", &folder, &e)),
                }
            }
        }
        Ok(())
    }
}

/// Writes one value; the error in words.
fn set(folder: &Path, file: &str, value: &str) -> std::result::Result<(), String> {
    std::fs::write(folder.join(file), value).map_err(|e| format!("the kernel refused `{value}` for {file} ({e})"))
}

fn number(path: &Path) -> Option<i64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Value of `key` in a file of `key value` lines.
fn keyed(path: &Path, key: &str) -> Option<i64> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}
