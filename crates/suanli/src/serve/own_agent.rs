//! This machine's agent: the one that answers already, or a new one.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base::{Cause, Error, Result};
use engine::Engine;
use engine::remote::AgentEngine;

use super::{Serve, host, unprivileged};

/// How long a new agent may take until it answers.
const PATIENCE: Duration = Duration::from_secs(30);

/// Set in the environment of a server that a root process has become, which had
/// started the agent before.
pub const STARTED: &str = "SUANLI_AGENT_STARTED";

/// In the data folder: which process the agent is that a server has started.
const NOTE: &str = "agent.process";

/// An agent that this server has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnAgent {
    /// It ran before, or somebody else keeps it.
    Theirs,
    /// We started it.
    Ours,
}

/// Makes sure that an agent answers at `socket`.
///
/// # Errors
/// None can be started; the hint says what is missing.
pub async fn ensure(serve: &Serve, data: &Path, socket: &Path) -> Result<OwnAgent> {
    if serve.agent_socket.is_some() {
        return theirs(socket).await;
    }
    let note = data.join(NOTE);
    if answers(socket).await {
        // After a crash it is still the agent that an earlier server of this folder has started.
        let noted = std::fs::read_to_string(&note).unwrap_or_default();
        let ours = std::env::var_os(STARTED).is_some() || noted_lives(&noted);
        return Ok(if ours { OwnAgent::Ours } else { OwnAgent::Theirs });
    }
    let log = data.join("agent.log");
    let mut command = command(serve, data, socket)?;
    let file = own_file(&log).map_err(|e| Error::internal(e).context("agent.log"))?;
    let second = file.try_clone().map_err(Error::internal)?;
    command.stdin(Stdio::null()).stdout(file).stderr(second);
    // A group of its own: Ctrl-C at the terminal is for the server, which ends the agent in order.
    command.process_group(0);
    let mut child = command.spawn().map_err(|e| {
        Error::new(Cause::HostIncomplete, format!("the agent cannot be started: {e}"))
            .hint("`suanli doctor` says what is missing")
    })?;
    // Without the note the agent would only outlive a server that crashes.
    if let Some(process) = identity(child.id())
        && let Err(error) = own_file(&note).and_then(|mut file| file.write_all(process.as_bytes()))
    {
        tracing::warn!(%error, "the agent could not be noted");
    }
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if answers(socket).await {
            return Ok(OwnAgent::Ours);
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(failed(&log, &format!("the agent ended with {status}")));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(failed(&log, "the agent does not answer"))
}

/// Waits for an agent that somebody else starts, perhaps at this moment.
async fn theirs(socket: &Path) -> Result<OwnAgent> {
    let began = Instant::now();
    while !answers(socket).await {
        if began.elapsed() > PATIENCE {
            let what = format!("no agent answers at {}", socket.display());
            return Err(Error::new(Cause::HostIncomplete, what)
                .hint("start it, or leave out --agent-socket and this server starts one of its own"));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(OwnAgent::Theirs)
}

/// Ends an agent that this server has started. Instances go on.
pub async fn end(agent: OwnAgent, socket: &Path) {
    if agent == OwnAgent::Ours
        && let Err(error) = AgentEngine::unix(socket).shutdown().await
    {
        tracing::warn!(%error, "the agent was not told to end");
    }
}

async fn answers(socket: &Path) -> bool {
    socket.exists() && AgentEngine::unix(socket).info().await.is_ok()
}

/// An empty file for writing. Root writes here into a folder of the server's user,
/// who must not be able to point it at other files with a link.
fn own_file(path: &Path) -> std::io::Result<std::fs::File> {
    let no_link = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    std::fs::OpenOptions::new().write(true).create(true).truncate(true).custom_flags(no_link).open(path)
}

/// A process as one line: number, start in clock ticks since boot, boot.
fn identity(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, so count from its end.
    let start = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{pid} {start} {}\n", boot.trim()))
}

/// Whether the very process that a note names still exists.
fn noted_lives(note: &str) -> bool {
    let pid = note.split_whitespace().next().and_then(|pid| pid.parse().ok());
    pid.and_then(identity).is_some_and(|now| now == note)
}

fn failed(log: &Path, what: &str) -> Error {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let last: Vec<_> = text.lines().rev().filter(|l| !l.trim().is_empty()).take(3).collect();
    let last: Vec<_> = last.into_iter().rev().collect();
    let said = if last.is_empty() { String::new() } else { format!(": {}", last.join(" / ")) };
    Error::new(Cause::HostIncomplete, format!("{what}{said}")).hint(format!("its log is {}", log.display()))
}

/// The command that starts the agent with the rights that it needs and can get.
fn command(serve: &Serve, data: &Path, socket: &Path) -> Result<Command> {
    let me = std::env::current_exe().map_err(|e| Error::internal(e).context("finding this program"))?;
    let root = unprivileged::is_root();
    let sudo = !root && can_sudo();
    if !root && !sudo && !serve.allow_no_isolation {
        return Err(Error::new(Cause::HostIncomplete, "the agent needs root, and sudo is not possible here").hint(
            "run as root, allow sudo, or try it out with --allow-no-isolation (plain processes, loopback only)",
        ));
    }
    let mut command = if sudo {
        let mut command = Command::new("sudo");
        command.arg("--").arg(&me);
        command
    } else {
        Command::new(&me)
    };
    let state = serve.agent_state.clone().unwrap_or_else(|| default_state(data, root || sudo));
    let (first_user, subnet) = host::own_ranges(&state);
    // What instances run beside must not know what opens the database.
    command.env_remove(super::secret_key::KEYS);
    command.arg("agent").arg("--socket").arg(socket).arg("--state").arg(state);
    let owner = if root {
        let (_, uid, gid) = unprivileged::user(serve.run_as.as_deref())?;
        Some((uid, gid))
    } else {
        sudo.then(|| (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()))
    };
    if let Some((uid, gid)) = owner {
        command.arg("--owner").arg(format!("{uid}:{gid}"));
    }
    for (flag, value) in [("--fake-gpus", &serve.fake_gpus), ("--name", &serve.node_name)] {
        if let Some(value) = value {
            command.arg(flag).arg(value);
        }
    }
    if let Some(lib) = &serve.nvml_lib {
        command.arg("--nvml-lib").arg(lib);
    }
    command.arg("--network").arg(&serve.network);
    command.arg("--first-user").arg(serve.first_user.unwrap_or(first_user).to_string());
    command.arg("--subnet").arg(serve.subnet.clone().unwrap_or(subnet));
    for network in &serve.block {
        command.arg("--block").arg(network);
    }
    command.args(serve.engine.words());
    if serve.allow_no_isolation {
        command.arg("--allow-no-isolation");
    }
    Ok(command)
}

fn default_state(data: &Path, privileged: bool) -> PathBuf {
    if privileged { host::agent_state(data) } else { data.join("agent") }
}

/// Whether sudo works without a password, or a person can be asked for it.
fn can_sudo() -> bool {
    let quiet = |args: &[&str]| {
        let run =
            Command::new("sudo").args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        run.is_ok_and(|status| status.success())
    };
    if quiet(&["-n", "true"]) {
        return true;
    }
    rustix::termios::isatty(std::io::stdin())
        && Command::new("sudo")
            .args(["-v", "-p", "suanli needs root for its agent; password of %p: "])
            .status()
            .is_ok_and(|s| s.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (aim, link) = (dir.path().join("aim"), dir.path().join("link"));
        std::fs::write(&aim, "whole").unwrap();
        std::os::unix::fs::symlink(&aim, &link).unwrap();
        assert!(own_file(&link).is_err());
        assert_eq!(std::fs::read_to_string(&aim).unwrap(), "whole");
        own_file(&dir.path().join("new")).unwrap();
    }

    #[test]
    fn a_note_means_one_process_and_no_other_with_its_number() {
        let me = identity(std::process::id()).unwrap();
        assert!(noted_lives(&me));
        let mut words: Vec<_> = me.split_whitespace().map(str::to_owned).collect();
        assert_eq!(words.len(), 3);
        words[1].push('1');
        assert!(!noted_lives(&(words.join(" ") + "\n")));
        assert!(!noted_lives(""));
        assert!(!noted_lives("no number"));
    }
}
