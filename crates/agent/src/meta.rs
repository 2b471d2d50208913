//! What is known of one instance, written before anything is done about it.

use std::path::{Path, PathBuf};

use base::{Cause, Error, Result};
use engine::{InstanceSpec, Ready};
use serde::{Deserialize, Serialize};

use crate::files;
use crate::process::ProcessId;

/// How far a generation came. Written before the step that it names begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Its runtime parts are being made.
    Creating,
    /// Everything for `start` is there.
    Created,
    /// Its first process may run, but was not proven ready.
    Starting,
    /// Proven ready.
    Running,
    /// Asked to stop.
    Stopping,
    /// Its first process died by itself.
    Ended,
    /// Nothing of it runs; the renter's data stays.
    Stopped,
}

/// State of one instance on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// What was asked for.
    pub spec: InstanceSpec,
    /// Host user and group id of everything inside; nobody else's while data exist.
    pub uid: u32,
    /// Which block of the subnet it uses.
    pub net_index: u32,
    /// How far it came.
    pub phase: Phase,
    /// Whether cards, network or cgroups of it may exist.
    pub held: bool,
    /// Its first process.
    pub init: Option<ProcessId>,
    /// Proof of readiness of this generation.
    pub ready: Option<Ready>,
    /// Whether the end of `on_start` was recorded.
    pub on_start_reported: bool,
    /// The boot in which its runtime parts were made; they do not outlive it.
    pub boot_id: String,
    /// Notices of creation, shown with readiness.
    pub notices: Vec<String>,
}

/// Folders of one instance.
#[derive(Clone, Debug)]
pub struct Folders {
    /// Everything of the instance.
    pub root: PathBuf,
}

impl Folders {
    /// Where the state is written.
    pub fn meta(&self) -> PathBuf {
        self.root.join("meta.json")
    }
    /// The renter's home.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }
    /// The renter's workspace.
    pub fn workspace(&self) -> PathBuf {
        self.root.join("workspace")
    }
    /// Socket of the helper inside.
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }
    /// Secret of what runs inside, for the server.
    pub fn token(&self) -> PathBuf {
        self.run().join("token")
    }
    /// Private part of /etc.
    pub fn etc(&self) -> PathBuf {
        self.root.join("etc")
    }
    /// What shows as /opt/suanli inside.
    pub fn opt(&self) -> PathBuf {
        self.root.join("opt")
    }
    /// Device nodes made for it.
    pub fn dev(&self) -> PathBuf {
        self.root.join("dev")
    }
    /// Output of the first process.
    pub fn log(&self) -> PathBuf {
        self.root.join("init.log")
    }
}

impl Meta {
    /// Reads the state; `None` when there is none.
    ///
    /// # Errors
    /// `engine-failed` when it is there but damaged: data is never removed for that.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let text = match std::fs::read(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|e| files::error("read", path, &e))?,
        };
        serde_json::from_slice(&text).map(Some).map_err(|e| {
            Error::new(Cause::EngineFailed, "the state of an instance on this node is damaged")
                .hint("its data is untouched; look at the file that the agent's log names")
                .context(format!("{}: {e}", path.display()))
        })
    }

    /// Writes the state so that a crash leaves the old or the new one; with `durable`
    /// a power cut too.
    ///
    /// # Errors
    /// As [`files::replace`].
    pub fn write(&self, path: &Path, durable: bool) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(Error::internal)?;
        files::replace(path, &text, 0o600, durable)
    }

    /// Name of everything of this generation that the host shows: cgroups.
    pub fn unit(&self) -> String {
        format!("{}-{}", self.spec.instance.slug, self.spec.instance.generation)
    }
}
