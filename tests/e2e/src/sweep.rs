//! Ends everything of a site by force, also when the test itself is killed.
//!
//! A process of its own waits for the end of the test at a pipe, which the kernel
//! closes however the test ends.

use std::io::Read;
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::host::{self, Traces};
use crate::pids_with;

/// The waiting process of one site.
#[derive(Debug)]
pub(crate) struct Sweeper(Child);

impl Sweeper {
    /// Begins to wait.
    pub(crate) fn start(folder: &Path, users: &Range<u32>) -> Self {
        // target/PROFILE/deps/TEST
        let test = std::env::current_exe().expect("the path of this test");
        let program = test.ancestors().nth(2).expect("the folder of the profile").join("suanli-e2e-sweep");
        let mut command = Command::new(&program);
        command.arg(folder).arg(users.start.to_string()).arg(users.end.to_string());
        // What ends this test's group must not end its sweeper.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap_or_else(|e| panic!("{}: {e}", program.display())))
    }

    /// Lets it sweep now, and waits for that.
    pub(crate) fn sweep(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// What the waiting process does: `FOLDER FIRST-USER END-OF-USERS`, then its
/// standard input to the end, then the work.
pub fn sweep(arguments: &[String]) -> Option<()> {
    let [folder, first, end] = arguments else { return None };
    let (folder, users) = (Path::new(folder), first.parse().ok()?..end.parse().ok()?);
    let test = rustix::process::getppid();
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (data, socket, state) = (path("data"), path("data/agent.sock"), folder.join("agent"));
    let second = path("second");
    // The servers first: they would start their agent again.
    for words in [["serve", "--data", &data], ["serve", "--data", &second], ["agent", "--socket", &socket]] {
        pids_with(&words).into_iter().for_each(|pid| host::signal(pid, Signal::KILL));
    }
    let entries = std::fs::read_dir(state.join("instances")).map(|all| all.flatten().collect::<Vec<_>>());
    let metas = entries
        .unwrap_or_default()
        .into_iter()
        .filter_map(|entry| serde_json::from_slice::<Value>(&std::fs::read(entry.path().join("meta.json")).ok()?).ok());
    let slugs: Vec<_> = metas.filter_map(|m| m["spec"]["instance"]["slug"].as_str().map(str::to_owned)).collect();
    Traces::clear(&slugs, users);
    // The test's own end would do the rest; after a kill there was none.
    if rustix::process::getppid() != test {
        let _ = Command::new("umount").arg("-l").arg(&state).stderr(Stdio::null()).status();
        let _ = std::fs::remove_dir_all(folder);
    }
    Some(())
}
