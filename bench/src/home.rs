//! Where a server of ours lives, and how it is started there.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use base::{Cause, Error, Result};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::host;

/// What stays of a server while its process comes and goes.
pub struct Home {
    /// Removed with it.
    pub folder: TempDir,
    /// Where it answers.
    pub address: SocketAddr,
    /// What seals secrets in its database.
    key: PathBuf,
    /// The agent of another server, where it has none of its own.
    agent: Option<PathBuf>,
}

impl Home {
    /// One with an agent and keys of its own.
    ///
    /// # Errors
    /// There is no room for its folder.
    pub fn new() -> Result<Self> {
        let folder = folder()?;
        let key = folder.path().join("secret.key");
        Ok(Self { folder, address: free_address()?, key, agent: None })
    }

    /// One that uses the agent and the keys of another.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn beside(first: &Self) -> Result<Self> {
        let agent = Some(first.data().join("agent.sock"));
        Ok(Self { folder: folder()?, address: free_address()?, key: first.key.clone(), agent })
    }

    /// The data folder of the server.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// What the server wrote to standard error.
    pub fn log(&self) -> PathBuf {
        self.folder.path().join("serve.log")
    }

    /// Starts a server here, limited to two cores.
    ///
    /// # Errors
    /// `host-incomplete` when a program for that is missing.
    pub fn spawn(&self, database: Option<&str>) -> Result<Child> {
        let program = std::env::var_os("SUANLI_BIN").ok_or_else(|| {
            Error::new(Cause::HostIncomplete, "SUANLI_BIN is not set").hint("run through `make bench`")
        })?;
        let log = std::fs::File::options().append(true).create(true).open(self.log()).map_err(Error::internal)?;
        let mut command = Command::new("taskset");
        command.args(["-c", two_cores()]).arg(program);
        command.arg("serve").arg("--data").arg(self.data());
        command.arg("--agent-state").arg(self.folder.path().join("agent"));
        command.args(["--listen", &self.address.to_string(), "--fake-gpus", "rtx4090x8", "--network", "closed"]);
        // What is measured is the server, not its limit for one caller.
        command.args(["--requests-per-second", "0"]);
        if let Some(url) = database {
            command.args(["--database", url]);
        }
        if let Some(socket) = &self.agent {
            command.arg("--agent-socket").arg(socket);
        }
        // Its usual place is one for the whole machine.
        command.env("SUANLI_SECRET_KEY_FILE", &self.key);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        // A group of its own: Ctrl-C is for the bench, which releases and ends in order.
        command.process_group(0);
        command.spawn().map_err(|e| {
            Error::new(Cause::HostIncomplete, format!("the server cannot be started: {e}"))
                .hint("taskset is in the package util-linux")
        })
    }
}

/// A folder that the server's user and instances can pass through.
fn folder() -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("suanli-bench.").tempdir().map_err(Error::internal)?;
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).map_err(Error::internal)?;
    Ok(folder)
}

fn two_cores() -> &'static str {
    if host::cores() > 1 { "0,1" } else { "0" }
}

/// An address that was free a moment ago.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Error::internal)?;
    listener.local_addr().map_err(Error::internal)
}
