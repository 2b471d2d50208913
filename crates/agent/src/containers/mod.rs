//! Runs instances as system containers of the Incus on this machine.
//!
//! Incus keeps the root disk; this module says what the container should be, starts
//! it, and starts the helper in it. The generation is part of the container's name,
//! and every start renames it: whoever acts on an older generation finds nothing.
//! Proofs of life do not come from Incus but from the kernel, by the identity of the
//! container's first process, so that a daemon that is down or upgraded costs nobody
//! anything.

mod launch;
mod make;
mod plan;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ::incus::{Endpoint, Incus, Instance, Status};
use base::{Cause, Error, Result, Span};
use engine::InstanceSpec;
use tokio::sync::OnceCell;

use crate::cards::Cards;
use crate::cgroup::{Others, Usage};
use crate::config::{IncusConfig, NetworkConfig, NetworkMode};
use crate::meta::Meta;

/// Free space of the pool below which nothing new is begun, MiB.
const RESERVE_MIB: i64 = 256;
/// Looks, a tenth of a second apart, at a container that is ending by itself.
const ENDING: u32 = 50;
/// Which instance a container is, whatever its name.
pub(crate) const INSTANCE: &str = "user.suanli.instance";

/// What is found out about the Incus once.
#[derive(Debug)]
struct Site {
    /// Name of this member, where there is a cluster.
    member: Option<String>,
    /// Whether the pool keeps promises of disk space.
    limits_disks: bool,
}

/// The containers of this machine's Incus.
#[derive(Debug)]
pub struct Containers {
    incus: Incus,
    config: IncusConfig,
    /// Whether instances get an interface at all.
    connected: bool,
    state_dir: PathBuf,
    cards: Arc<Cards>,
    boot_id: String,
    site: OnceCell<Site>,
}

impl Containers {
    /// The containers of an Incus, which is asked when it is first needed.
    ///
    /// # Errors
    /// `invalid-request` for networks that are to be blocked: that would be promised
    /// and not kept.
    pub fn open(
        config: &IncusConfig,
        network: &NetworkConfig,
        state_dir: &Path,
        cards: Arc<Cards>,
        boot_id: &str,
    ) -> Result<Self> {
        if !network.blocked.is_empty() {
            return Err(Error::new(
                Cause::InvalidRequest,
                "the agent cannot block networks for instances on Incus yet",
            )
            .hint("leave out --block and give the bridge an ACL (`incus network acl`), or use --network closed"));
        }
        let incus = Incus::new(Endpoint::Unix(config.socket.clone()), &config.project);
        Ok(Self {
            incus,
            connected: network.mode != NetworkMode::Closed,
            config: config.clone(),
            state_dir: state_dir.to_owned(),
            cards,
            boot_id: boot_id.to_owned(),
            site: OnceCell::new(),
        })
    }

    /// What the Incus is; the first time its project is made.
    async fn site(&self) -> Result<&Site> {
        self.site.get_or_try_init(|| self.set_up()).await
    }

    async fn set_up(&self) -> Result<Site> {
        let server = self.incus.server().await?;
        self.incus.ensure_project(&plan::project(&self.config, &self.state_dir)).await?;
        let pools = self.incus.pools().await?;
        let pool = pools.iter().find(|pool| pool.name == self.config.pool).ok_or_else(|| {
            Error::new(Cause::HostIncomplete, format!("Incus has no storage pool `{}`", self.config.pool))
                .hint("make one (`incus storage create`), or name another with --incus-pool")
        })?;
        let environment = server.environment;
        let member = environment.server_clustered.then_some(environment.server_name);
        Ok(Site { member, limits_disks: pool.limits_disks() })
    }

    /// What this Incus lacks, in sentences.
    pub async fn notices(&self) -> Vec<String> {
        match self.site().await {
            Ok(site) if site.limits_disks => Vec::new(),
            Ok(_) => vec![format!(
                "disk use is not limited on this host: the storage pool `{}` has the driver `dir`; use btrfs, zfs or ceph",
                self.config.pool
            )],
            Err(error) => vec![format!("no instance can run on this node now: {}", error.message())],
        }
    }

    /// Free space of the pool, MiB.
    ///
    /// # Errors
    /// `unavailable`, `engine-failed`.
    pub async fn disk_free_mib(&self) -> Result<i64> {
        let site = self.site().await?;
        let space = self.incus.pool_resources(&self.config.pool, site.member.as_deref()).await?.space;
        Ok(space.total.saturating_sub(space.used) >> 20)
    }

    /// A promise of disk space that cannot be kept is not given.
    ///
    /// # Errors
    /// `disk-full`, `unavailable`, `engine-failed`.
    pub async fn check_room(&self, spec: &InstanceSpec, new: bool) -> Result<()> {
        let real = !self.cards.facts_of(&spec.devices)?.iter().any(|card| card.fake);
        let needed = if new && real { spec.disk_mib.max(RESERVE_MIB) } else { RESERVE_MIB };
        let free = self.disk_free_mib().await?;
        if free >= needed {
            return Ok(());
        }
        let what = format!("the storage pool has {free} MiB free; the instance needs {needed} MiB");
        Err(Error::new(Cause::DiskFull, what).hint("free space in the pool, or rent on another node"))
    }

    /// Name of the container of a generation.
    fn name(meta: &Meta) -> String {
        let instance = &meta.spec.instance;
        format!("{}-g{}", instance.id, instance.generation)
    }

    /// The container of an instance, whatever generation it is in.
    async fn find(&self, meta: &Meta) -> Result<Option<Instance>> {
        match self.incus.instance(&Self::name(meta)).await {
            Ok(found) => return Ok(Some(found.value)),
            Err(error) if error.cause() == Cause::NotFound => {}
            Err(error) => return Err(error),
        }
        let id = meta.spec.instance.id.as_str();
        let all = self.incus.instances().await?;
        Ok(all.into_iter().find(|i| i.config.get(INSTANCE).is_some_and(|value| value == id)))
    }

    /// Asks a container to end; what comes of it shows at its first process.
    pub async fn ask_to_end(&self, meta: &Meta, grace: Span) {
        let seconds = (grace.millis() / 1000).max(1);
        if let Err(error) = self.incus.stop(&Self::name(meta), seconds, false).await {
            tracing::info!(%error, unit = meta.unit(), "could not be asked to end");
        }
    }

    /// Ends the container of a generation.
    ///
    /// # Errors
    /// `unavailable`, `engine-failed`: then it may still run.
    pub async fn release(&self, meta: &Meta) -> Result<()> {
        self.site().await?;
        let Some(container) = self.find(meta).await? else { return Ok(()) };
        self.halt(&container).await
    }

    async fn halt(&self, container: &Instance) -> Result<()> {
        if container.status_code == Status::STOPPED {
            return Ok(());
        }
        let outcome = match self.incus.stop(&container.name, -1, true).await {
            Ok(operation) => self.incus.wait(&operation).await,
            Err(error) => Err(error),
        };
        let Err(error) = outcome else { return Ok(()) };
        // What counts is the state: it may have been ending by itself at this moment.
        for _ in 0..ENDING {
            match self.incus.instance(&container.name).await {
                Ok(now) if now.value.status_code == Status::STOPPED => return Ok(()),
                Err(gone) if gone.cause() == Cause::NotFound => return Ok(()),
                _ => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
        Err(error)
    }

    /// Deletes the container with everything in it.
    ///
    /// # Errors
    /// `unavailable`, `engine-failed`.
    pub async fn delete(&self, meta: &Meta) -> Result<()> {
        let Some(container) = self.find(meta).await? else { return Ok(()) };
        self.halt(&container).await?;
        match self.incus.delete(&container.name).await {
            Ok(operation) => self.incus.wait(&operation).await,
            Err(error) if error.cause() == Cause::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn groups(&self, meta: &Meta) -> Option<Others> {
        let init = meta.init.as_ref()?;
        // The number may have changed hands.
        init.open(&self.boot_id)?;
        Others::of(init.pid)
    }

    /// What an instance uses now.
    pub fn usage(&self, meta: &Meta) -> Usage {
        self.groups(meta).map(|groups| groups.usage()).unwrap_or_default()
    }

    /// Host numbers of the processes of an instance.
    pub fn pids(&self, meta: &Meta) -> Vec<i32> {
        self.groups(meta).map(|groups| groups.pids()).unwrap_or_default()
    }
}
