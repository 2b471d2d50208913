//! Runs instances by bubblewrap, control groups, network namespaces and packet
//! filters: the built-in way, for one machine.

mod bwrap;
mod command;
mod etc_files;
mod host;
mod launch;
mod network;
mod nodes;
mod seccomp;
mod spawn;

use std::path::PathBuf;
use std::sync::Arc;

use base::{Cause, Error, Result};
use engine::InstanceSpec;

use crate::cards::Cards;
use crate::cgroup::{Limits, Usage};
use crate::config::AgentConfig;
use crate::meta::{Folders, Meta};
use crate::process;
use host::{Host, Isolation};

/// Free space below which nothing new is begun: the agent's own state needs room too.
const RESERVE_MIB: i64 = 16;
/// Rounds of ten milliseconds after which a killed process counts as stuck.
const KILL_ROUNDS: u32 = 500;

/// This machine as a runner of sandboxes.
#[derive(Debug)]
pub struct Sandbox {
    config: AgentConfig,
    host: Host,
    cards: Arc<Cards>,
    boot_id: String,
    /// Library search cache for inside, where the cards are fake.
    ld_cache: Option<PathBuf>,
}

impl Sandbox {
    /// Tries out what the host allows.
    ///
    /// # Errors
    /// Only for our own faults: a host that can do little is described, not refused.
    pub async fn open(config: AgentConfig, cards: Arc<Cards>, boot_id: &str) -> Result<Self> {
        let host = Host::detect(&config).await?;
        let ld_cache = match (&host.isolation, cards.fake_library()) {
            (Isolation::Container, Some(library)) => host.library_cache(&config, library).await,
            _ => None,
        };
        Ok(Self { config, host, cards, boot_id: boot_id.to_owned(), ld_cache })
    }

    fn state_dir(&self) -> &std::path::Path {
        &self.config.state_dir
    }

    /// `container` or `none`.
    pub fn isolation(&self) -> &'static str {
        self.host.isolation_name()
    }

    /// Why no instance can run here, if none can.
    pub fn refusal(&self) -> Option<Error> {
        match &self.host.isolation {
            Isolation::Refused(error) => Some(error.clone()),
            _ => None,
        }
    }

    /// What the host lacks, in sentences.
    pub fn notices(&self) -> Vec<String> {
        self.host.notices.clone()
    }

    /// How many instances can have an address.
    pub fn capacity(&self) -> u32 {
        self.host.network.capacity()
    }

    /// Free space where instances live, MiB.
    ///
    /// # Errors
    /// `internal` when the file system does not say.
    pub fn disk_free_mib(&self) -> Result<i64> {
        let stat = rustix::fs::statvfs(self.state_dir()).map_err(|e| Error::internal(format!("statvfs: {e}")))?;
        Ok(i64::try_from(stat.f_bavail.saturating_mul(stat.f_frsize) >> 20).unwrap_or(i64::MAX))
    }

    /// A promise of disk space that cannot be kept is not given.
    ///
    /// # Errors
    /// `disk-full`.
    pub fn check_room(&self, spec: &InstanceSpec, new: bool) -> Result<()> {
        let free = self.disk_free_mib()?;
        // A fake card comes with the disk of the real one, which the machine that plays it need not have.
        let real = !self.cards.facts_of(&spec.devices)?.iter().any(|card| card.fake);
        // What an existing instance has written already is part of its promise.
        let needed = if new && real { spec.disk_mib.max(RESERVE_MIB) } else { RESERVE_MIB };
        if free >= needed {
            return Ok(());
        }
        Err(Error::new(
            Cause::DiskFull,
            format!("the node has {free} MiB of disk free; the instance needs {needed} MiB"),
        )
        .hint("free space on the node, or rent on another one"))
    }

    /// Makes or completes the parts of a generation that do not outlive it; what the
    /// renter should know of them goes to the state.
    ///
    /// # Errors
    /// `disk-full`, `device-lost`, `host-incomplete`, `engine-failed`.
    pub async fn make(&self, folders: &Folders, meta: &mut Meta) -> Result<()> {
        let spec = &meta.spec;
        let limits = Limits { cpus: spec.cpus, memory_mib: spec.memory_mib, processes: spec.max_processes };
        let mut notices = self.host.cgroups.create(&meta.unit(), limits)?;
        notices.extend(self.host.cgroups.notices().iter().cloned());
        if spec.disk_mib > 0 {
            notices.push(format!(
                "disk use is not limited on this host: {} MiB were promised, and all instances share the node's disk",
                spec.disk_mib
            ));
        }
        if matches!(self.host.isolation, Isolation::Container) {
            let network = &self.host.network;
            network.needed()?;
            if network.usable() {
                network.create(&network.link(spec.instance.slug.as_str(), meta.net_index)?).await?;
            }
            notices.extend(network.notices().iter().cloned());
            let cards = self.cards.facts_of(&spec.devices)?;
            notices.extend(nodes::prepare(&folders.dev(), meta.uid, &cards)?.notices);
            let slug = spec.instance.slug.as_str();
            etc_files::write(&folders.etc(), slug, network.resolvers(), self.ld_cache.as_deref())?;
        } else {
            notices.push("NO ISOLATION: this instance runs as plain processes on the node".into());
        }
        meta.notices = notices;
        Ok(())
    }

    /// Kills the processes and removes groups and network; missing parts are fine.
    ///
    /// # Errors
    /// `engine-failed` when a process cannot be killed or a part stays.
    pub async fn release(&self, meta: &Meta) -> Result<()> {
        let host = &self.host;
        let groups_empty = host.cgroups.kill(&meta.unit()).await;
        let all_gone = process::kill_all(|| self.processes_outside_groups(meta), KILL_ROUNDS).await;
        if !groups_empty || !all_gone {
            // Its cards may still be in use: they must not be given to anybody else.
            return Err(Error::new(Cause::EngineFailed, "processes of the instance cannot be killed")
                .hint("a process stuck in a driver needs a restart of the node")
                .context(meta.unit()));
        }
        if matches!(host.isolation, Isolation::Container) && host.network.usable() {
            let link = host.network.link(meta.spec.instance.slug.as_str(), meta.net_index)?;
            host.network.remove(&link).await?;
        }
        host.cgroups.remove(&meta.unit()).await
    }

    /// Processes of the instance by what cannot be shed: its user, or without one
    /// its mark in the environment.
    fn processes_outside_groups(&self, meta: &Meta) -> Vec<i32> {
        match self.user_of(meta) {
            Some(uid) => process::of_user(uid),
            None => process::with_environment(&format!("SUANLI_SLUG={}", meta.spec.instance.slug)),
        }
    }

    /// What the groups of an instance count now.
    pub fn usage(&self, meta: &Meta) -> Usage {
        self.host.cgroups.usage(&meta.unit())
    }

    /// Host numbers of the processes of an instance.
    pub fn pids(&self, meta: &Meta) -> Vec<i32> {
        let pids = self.host.cgroups.pids(&meta.unit());
        if pids.is_empty() { self.processes_outside_groups(meta) } else { pids }
    }

    /// The host user of an instance's processes, where they have one of their own.
    pub fn user_of(&self, meta: &Meta) -> Option<u32> {
        self.host.own_users.then_some(meta.uid)
    }

    /// The environment of everything inside.
    fn environment(&self, meta: &Meta) -> std::collections::BTreeMap<String, String> {
        let fake = self.cards.fake_library().is_some();
        let mut env = bwrap::environment(meta.spec.instance.slug.as_str(), &meta.spec.env, fake);
        if fake && self.ld_cache.is_none() {
            env.insert("LD_LIBRARY_PATH".into(), bwrap::FAKE_LIB.into());
        }
        env
    }
}
