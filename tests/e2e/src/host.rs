//! What the machine shows: processes, control groups, networks.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal};

/// Whether this test is root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn numbers() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").expect("/proc");
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn status(pid: i32, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next().map(str::to_owned)
}

/// Whether a process runs; the dead that nobody has fetched do not.
pub fn alive(pid: i32) -> bool {
    status(pid, "State:").is_some_and(|state| state != "Z" && state != "X")
}

/// Whether a process is stopped by a signal.
pub(crate) fn frozen(pid: i32) -> bool {
    status(pid, "State:").is_some_and(|state| state == "T")
}

/// Processes of these users of the machine.
pub fn processes_of(users: std::ops::Range<u32>) -> Vec<i32> {
    let uid = |pid: &i32| status(*pid, "Uid:").and_then(|uid| uid.parse::<u32>().ok());
    numbers().filter(|pid| alive(*pid) && uid(pid).is_some_and(|uid| users.contains(&uid))).collect()
}

/// Processes whose command line has all of these words.
pub fn pids_with(words: &[&str]) -> Vec<i32> {
    let fits = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let has: BTreeSet<_> = line.split(|byte| *byte == 0).collect();
        words.iter().all(|word| has.contains(word.as_bytes()))
    };
    numbers().filter(|pid| alive(*pid) && fits(pid)).collect()
}

/// Sends a signal to one process; one that is gone is fine.
pub(crate) fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// What instances leave on the machine while they run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Traces(pub Vec<String>);

impl Traces {
    /// Everything named after one of these slugs, and every process of these users.
    pub fn of(slugs: &[String], users: std::ops::Range<u32>) -> Self {
        let mut found: Vec<String> = processes_of(users).iter().map(|pid| format!("process {pid}")).collect();
        if slugs.is_empty() {
            return Self(found);
        }
        let named = |name: &str| slugs.iter().any(|slug| name.contains(slug.as_str()));
        for folder in groups(slugs) {
            found.push(format!("control group {folder}"));
        }
        for (what, text) in [
            ("network namespace", said("ip", &["netns", "list"])),
            ("interface", said("ip", &["-o", "link"])),
            ("packet filter", said("nft", &["list", "tables"])),
        ] {
            found.extend(text.lines().filter(|line| named(line)).map(|line| format!("{what} {line}")));
        }
        Self(found)
    }

    /// Takes away by force what instances with these slugs and users have.
    pub(crate) fn clear(slugs: &[String], users: std::ops::Range<u32>) {
        for _ in 0..200 {
            let left = processes_of(users.clone());
            if left.is_empty() {
                break;
            }
            left.into_iter().for_each(|pid| signal(pid, Signal::KILL));
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        for slug in slugs {
            let _ = quiet("ip", &["link", "delete", &format!("sl-{slug}")]);
            let _ = quiet("ip", &["netns", "delete", &format!("suanli-{slug}")]);
            let _ = quiet("nft", &["delete", "table", "inet", &format!("suanli-{slug}")]);
        }
        for folder in groups(slugs) {
            for _ in 0..200 {
                if std::fs::remove_dir(&folder).is_ok() || !Path::new(&folder).exists() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
    }
}

fn groups(slugs: &[String]) -> Vec<String> {
    let all =
        said("find", &["/sys/fs/cgroup", "-mindepth", "2", "-maxdepth", "4", "-type", "d", "-path", "*/suanli/*"]);
    let name = |line: &str| line.rsplit('/').next().unwrap_or_default().to_owned();
    all.lines()
        .filter(|line| slugs.iter().any(|slug| name(line).starts_with(slug.as_str())))
        .map(str::to_owned)
        .collect()
}

fn said(program: &str, arguments: &[&str]) -> String {
    let done = Command::new(program).args(arguments).output();
    done.map(|done| String::from_utf8_lossy(&done.stdout).into_owned()).unwrap_or_default()
}

fn quiet(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|done| done.status.success())
}
