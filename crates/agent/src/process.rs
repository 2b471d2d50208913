//! Processes by identity, so that a reused number is never signalled.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use tokio::io::unix::AsyncFd;

/// One process of one boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Number of the process.
    pub pid: i32,
    /// When it started, clock ticks since boot, as in /proc/PID/stat.
    pub start_ticks: u64,
    /// The boot in which it runs.
    pub boot_id: String,
}

impl ProcessId {
    /// The identity of a process that runs now.
    pub fn of(pid: i32, boot_id: &str) -> Option<Self> {
        Some(Self { pid, start_ticks: start_ticks(pid)?, boot_id: boot_id.to_owned() })
    }

    /// A handle on this very process, or `None` when it is gone.
    pub fn open(&self, boot_id: &str) -> Option<Process> {
        if self.boot_id != boot_id {
            return None;
        }
        let fd = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::NONBLOCK).ok()?;
        // Checked after opening: from here on the number cannot change hands.
        if start_ticks(self.pid)? != self.start_ticks {
            return None;
        }
        let process = Process { fd };
        process.alive().then_some(process)
    }
}

/// Start time of a process, clock ticks since boot.
pub fn start_ticks(pid: i32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, so count from its end.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// A handle on one process.
#[derive(Debug)]
pub struct Process {
    fd: OwnedFd,
}

impl Process {
    /// Whether it runs.
    pub fn alive(&self) -> bool {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        matches!(poll(&mut fds, Some(&rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0))
    }

    /// Sends a signal; a process that is gone is fine.
    pub fn signal(&self, signal: Signal) {
        if let Err(error) = pidfd_send_signal(self.fd.as_fd(), signal)
            && error != rustix::io::Errno::SRCH
        {
            tracing::warn!(%error, "a first process could not be signalled");
        }
    }

    /// Returns when it ended.
    pub async fn ended(&self) {
        let registered = self.fd.try_clone().and_then(|fd| {
            // SAFETY: the descriptor is owned by the result and closed only with it.
            unsafe { AsyncFd::register(fd) }.map_err(std::io::Error::from)
        });
        match registered {
            Ok(fd) => {
                let _ = fd.readable().await;
            }
            Err(error) => {
                tracing::error!(%error, "cannot wait for a process by event, polling instead");
                while self.alive() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

/// Processes of the host that run under this user id. Each instance has a user of
/// its own, so these are exactly its processes.
pub fn of_user(uid: u32) -> Vec<i32> {
    pids(|pid| {
        let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else {
            return false;
        };
        let field = |name: &str| status.lines().find_map(|l| l.strip_prefix(name))?.split_whitespace().next();
        // The dead that nobody has fetched yet run nothing and cannot be killed.
        field("State:") != Some("Z") && field("Uid:").and_then(|u| u.parse().ok()) == Some(uid)
    })
}

/// Processes whose environment holds `NAME=value`, for hosts where instances
/// share one user id.
pub fn with_environment(variable: &str) -> Vec<i32> {
    pids(|pid| {
        std::fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|env| env.split(|b| *b == 0).any(|entry| entry == variable.as_bytes()))
    })
}

fn pids(keep: impl Fn(i32) -> bool) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).filter(|pid| keep(*pid)).collect()
}

/// Kills every process that `find` names, again and again, until it names none or
/// `rounds` are over. True when none is left.
pub async fn kill_all(find: impl Fn() -> Vec<i32>, rounds: u32) -> bool {
    for _ in 0..rounds {
        let found: Vec<(i32, OwnedFd)> = find()
            .into_iter()
            .filter_map(|pid| Some((pid, pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?)))
            .collect();
        if found.is_empty() && find().is_empty() {
            return true;
        }
        // Asked again with the handles open: only what is named twice is ours.
        let still = find();
        for (pid, fd) in &found {
            if still.contains(pid) {
                let _ = pidfd_send_signal(fd, Signal::KILL);
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    find().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_is_known_by_more_than_its_number() {
        let mut child = tokio::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = i32::try_from(child.id().unwrap()).unwrap();
        let id = ProcessId::of(pid, "boot").unwrap();
        assert!(id.open("boot").is_some());
        assert!(id.open("other boot").is_none());
        let other = ProcessId { start_ticks: id.start_ticks + 1, ..id.clone() };
        assert!(other.open("boot").is_none());
        let process = id.open("boot").unwrap();
        process.signal(Signal::KILL);
        process.ended().await;
        assert!(!process.alive());
        assert!(id.open("boot").is_none(), "a dead process that nobody has reaped is dead");
        child.wait().await.unwrap();
    }

    #[tokio::test]
    async fn only_marked_processes_are_killed() {
        let spawn = |mark: &str| {
            tokio::process::Command::new("sleep").arg("1000").env("SUANLI_TEST_MARK", mark).spawn().unwrap()
        };
        let unique = std::process::id().to_string();
        let (mut ours, mut other) = (spawn(&unique), spawn("other"));
        let mark = format!("SUANLI_TEST_MARK={unique}");
        // A child that has not yet called exec still shows its parent's environment.
        while with_environment(&mark).is_empty() {
            tokio::task::yield_now().await;
        }
        let reaped = tokio::spawn(async move { ours.wait().await });
        assert!(kill_all(|| with_environment(&mark), 200).await);
        assert!(!reaped.await.unwrap().unwrap().success());
        assert_eq!(other.try_wait().unwrap(), None);
        other.kill().await.unwrap();
    }
}
