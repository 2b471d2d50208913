//! What makes, starts and ends the processes of instances on this node. What an
//! instance has been promised, how far it came and what is proven of it is the
//! node's own business ([`crate::node`]), whichever runner it has.

use std::collections::BTreeSet;
use std::time::Duration;

use base::{Cause, Error, Result, Span};
use engine::InstanceSpec;
use rustix::process::Signal;
use tokio::time::Instant;

use crate::cgroup::Usage;
use crate::containers::Containers;
use crate::files;
use crate::meta::{Folders, Meta};
use crate::process::{Process, ProcessId};
use crate::sandbox::Sandbox;

/// Within this time an instance is ready or was not started.
pub const READY_WITHIN: Duration = Duration::from_secs(30);

/// A first process that was started.
#[derive(Debug)]
pub struct Launched {
    /// Which process.
    pub init: ProcessId,
    /// The device numbers that must be seen inside, no more and no fewer; `None` where
    /// they cannot be compared.
    pub numbers: Option<BTreeSet<String>>,
}

/// The runner of this node.
#[derive(Debug)]
pub enum Runner {
    /// Built in.
    Sandbox(Box<Sandbox>),
    /// The Incus of this machine.
    Incus(Box<Containers>),
}

/// A first process that ended before it was ready.
pub fn died_early(folders: &Folders) -> Error {
    let words = files::tail(&folders.log(), 400);
    Error::new(Cause::EngineFailed, format!("the instance's first process ended at once: {words}"))
        .hint("the agent's log on the node may say more")
}

impl Runner {
    /// `container`, or `none` where instances are not kept apart.
    pub fn isolation(&self) -> &'static str {
        match self {
            Self::Sandbox(sandbox) => sandbox.isolation(),
            Self::Incus(_) => "container",
        }
    }

    /// Why no instance can run here, if none can.
    pub fn refusal(&self) -> Option<Error> {
        match self {
            Self::Sandbox(sandbox) => sandbox.refusal(),
            Self::Incus(_) => None,
        }
    }

    /// What the host lacks, in sentences.
    pub async fn notices(&self) -> Vec<String> {
        match self {
            Self::Sandbox(sandbox) => sandbox.notices(),
            Self::Incus(containers) => containers.notices().await,
        }
    }

    /// How many instances can have an address of the agent's.
    pub fn capacity(&self) -> u32 {
        match self {
            Self::Sandbox(sandbox) => sandbox.capacity(),
            Self::Incus(_) => u32::MAX,
        }
    }

    /// Free space where instances live, MiB.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn disk_free_mib(&self) -> Result<i64> {
        match self {
            Self::Sandbox(sandbox) => sandbox.disk_free_mib(),
            Self::Incus(containers) => containers.disk_free_mib().await,
        }
    }

    /// A promise of disk space that cannot be kept is not given.
    ///
    /// # Errors
    /// `disk-full`.
    pub async fn check_room(&self, spec: &InstanceSpec, new: bool) -> Result<()> {
        match self {
            Self::Sandbox(sandbox) => sandbox.check_room(spec, new),
            Self::Incus(containers) => containers.check_room(spec, new).await,
        }
    }

    /// Makes everything that a generation needs before it can be started.
    ///
    /// # Errors
    /// `disk-full`, `device-lost`, `host-incomplete`, `unavailable`, `engine-failed`.
    pub async fn make(&self, folders: &Folders, meta: &mut Meta) -> Result<()> {
        match self {
            Self::Sandbox(sandbox) => sandbox.make(folders, meta).await,
            Self::Incus(containers) => containers.make(folders, meta).await,
        }
    }

    /// Starts the first process, and the helper if that is another one.
    ///
    /// # Errors
    /// As [`Runner::make`]; something may have been started, which `release` ends.
    pub async fn launch(&self, folders: &Folders, meta: &Meta, deadline: Instant) -> Result<Launched> {
        match self {
            Self::Sandbox(sandbox) => sandbox.launch(folders, meta, deadline).await,
            Self::Incus(containers) => containers.launch(folders, meta).await,
        }
    }

    /// Asks an instance to end, and waits at most `grace`.
    pub async fn ask_to_end(&self, meta: &Meta, init: &Process, grace: Span) {
        match self {
            Self::Sandbox(_) => init.signal(Signal::TERM),
            Self::Incus(containers) => containers.ask_to_end(meta, grace).await,
        }
        let grace = Duration::from_micros(grace.micros().max(0).unsigned_abs());
        if tokio::time::timeout(grace, init.ended()).await.is_err() {
            tracing::info!(unit = meta.unit(), "did not end when asked; forced");
        }
    }

    /// A first process that came in place of one that has ended: somebody inside has
    /// asked for a restart. `None` when there is none.
    pub async fn came_back(&self, folders: &Folders, meta: &Meta) -> Option<Launched> {
        match self {
            Self::Sandbox(_) => None,
            Self::Incus(containers) => containers.came_back(folders, meta).await,
        }
    }

    /// Ends every process and gives back what does not outlive a generation; missing
    /// parts are fine.
    ///
    /// # Errors
    /// `engine-failed`, `unavailable`: then cards may still be in use.
    pub async fn release(&self, meta: &Meta) -> Result<()> {
        match self {
            Self::Sandbox(sandbox) => sandbox.release(meta).await,
            Self::Incus(containers) => containers.release(meta).await,
        }
    }

    /// Removes what the runner itself keeps of the renter's data.
    ///
    /// # Errors
    /// `engine-failed`, `unavailable`.
    pub async fn delete(&self, meta: &Meta) -> Result<()> {
        match self {
            Self::Sandbox(_) => Ok(()),
            Self::Incus(containers) => containers.delete(meta).await,
        }
    }

    /// What an instance uses now.
    pub fn usage(&self, meta: &Meta) -> Usage {
        match self {
            Self::Sandbox(sandbox) => sandbox.usage(meta),
            Self::Incus(containers) => containers.usage(meta),
        }
    }

    /// Host numbers of the processes of an instance.
    pub fn pids(&self, meta: &Meta) -> Vec<i32> {
        match self {
            Self::Sandbox(sandbox) => sandbox.pids(meta),
            Self::Incus(containers) => containers.pids(meta),
        }
    }

    /// The host user of the helper inside, where instances have users of their own.
    pub fn user_of(&self, meta: &Meta) -> Option<u32> {
        match self {
            Self::Sandbox(sandbox) => sandbox.user_of(meta),
            Self::Incus(_) => Some(meta.uid),
        }
    }
}
