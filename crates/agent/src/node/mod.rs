//! The engine of this node: what was promised to each instance, how far it came, and
//! what is proven of it. How processes are made and ended is the runner's part.
//!
//! Intent is written before action, and every step can be repeated, so the agent
//! may die between any two instructions. Instances do not depend on the agent:
//! it finds them again by the identity of their first processes.

mod create;
mod end;
mod instance;
mod recover;
mod start;
mod tombs;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{Cause, Error, InstanceId, Result, Span, Timestamp};
use engine::report::{Alive, NodeInfo, NodeReport};
use engine::{Engine, InstanceRef, InstanceSpec, Ready, Stats, Stopped};

pub use instance::{Instance, Measured, Session};

use crate::cards::Cards;
use crate::cgroup::Usage;
use crate::config::{AgentConfig, EngineConfig};
use crate::containers::Containers;
use crate::evidence::Evidence;
use crate::meta::{Folders, Meta, Phase};
use crate::runner::Runner;
use crate::sandbox::Sandbox;
use crate::{files, guest};
use tombs::Tombs;

/// The engine of this machine. Clones share everything.
#[derive(Clone, Debug)]
pub struct Node(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: AgentConfig,
    runner: Runner,
    cards: Arc<Cards>,
    evidence: Arc<Evidence>,
    instances: Mutex<BTreeMap<InstanceId, Arc<Instance>>>,
    tombs: Tombs,
}

fn not_here(id: &InstanceId) -> Error {
    Error::not_found(format!("instance {id} on this node"))
}

fn stale(known: i64, asked: i64) -> Error {
    Error::new(Cause::StaleGeneration, format!("generation {asked} is over: the node knows generation {known}"))
        .hint("read the instance again; somebody else has moved it on")
}

impl Node {
    /// CPU cores of this machine.
    pub(crate) fn cores(&self) -> i64 {
        std::thread::available_parallelism().map_or(1, |n| i64::try_from(n.get()).unwrap_or(1))
    }

    /// Prepares the folders, tries out the host and takes up every instance that an
    /// earlier run of the agent left.
    ///
    /// # Errors
    /// `disk-full` or `engine-failed` when the state folder cannot be used.
    pub async fn open(config: AgentConfig, cards: Arc<Cards>, evidence: Arc<Evidence>, guest: &[u8]) -> Result<Self> {
        let state = &config.state_dir;
        files::folder(&state.join("instances"), 0o711, None)?;
        files::folder(&state.join("trash"), 0o700, None)?;
        let binary = state.join("guest");
        // Replaced by rename: a running instance keeps the one that it was started with.
        if std::fs::read(&binary).ok().as_deref() != Some(guest) {
            files::replace(&binary, guest, 0o755, false)?;
        }
        let tombs = Tombs::open(&state.join("tombs"))?;
        let boot_id = evidence.boot_id();
        let runner = match &config.engine {
            EngineConfig::Sandbox => {
                Runner::Sandbox(Box::new(Sandbox::open(config.clone(), cards.clone(), boot_id).await?))
            }
            EngineConfig::Incus(incus) => {
                Runner::Incus(Box::new(Containers::open(incus, &config.network, state, cards.clone(), boot_id)?))
            }
        };
        let node = Self(Arc::new(Inner { config, runner, cards, evidence, instances: Mutex::default(), tombs }));
        node.recover().await?;
        Ok(node)
    }

    fn state_dir(&self) -> &Path {
        &self.0.config.state_dir
    }

    fn now(&self) -> Timestamp {
        self.0.evidence.now()
    }

    fn instances(&self) -> MutexGuard<'_, BTreeMap<InstanceId, Arc<Instance>>> {
        self.0.instances.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that the node has anything of.
    pub fn all(&self) -> Vec<Arc<Instance>> {
        self.instances().values().cloned().collect()
    }

    /// Whether the proof of any instance's life is being kept.
    pub fn live(&self) -> bool {
        self.all().iter().any(|i| i.meta().is_some_and(|m| m.held))
    }

    /// The instance, whether or not anything is known of it.
    fn slot(&self, id: &InstanceId) -> Arc<Instance> {
        let folders = Folders { root: self.state_dir().join("instances").join(id.as_str()) };
        let new = || Arc::new(Instance::new(id.clone(), folders));
        self.instances().entry(id.clone()).or_insert_with(new).clone()
    }

    /// The instance, if the node has anything of it.
    fn known(&self, id: &InstanceId) -> Result<Arc<Instance>> {
        let found = self.instances().get(id).cloned();
        found.filter(|i| i.meta().is_some()).ok_or_else(|| not_here(id))
    }

    /// Forgets instances of which nothing is left.
    pub fn forget_gone(&self) {
        // Somebody who holds a handle may be about to create it again.
        self.instances().retain(|_, i| i.meta().is_some() || Arc::strong_count(i) > 1);
    }

    /// Writes the state and then shows it.
    fn save(&self, instance: &Instance, meta: &Meta, durable: bool) -> Result<()> {
        meta.write(&instance.folders.meta(), durable)?;
        instance.set_meta(Some(meta.clone()));
        Ok(())
    }

    /// What the groups of an instance count now.
    pub fn usage(&self, meta: &Meta) -> Usage {
        self.0.runner.usage(meta)
    }

    /// Host numbers of the processes of an instance.
    pub fn pids(&self, meta: &Meta) -> Vec<i32> {
        self.0.runner.pids(meta)
    }

    /// The cards of this node.
    pub fn cards(&self) -> &Arc<Cards> {
        &self.0.cards
    }

    /// The evidence of this node.
    pub fn evidence(&self) -> &Arc<Evidence> {
        &self.0.evidence
    }

    /// Opens one stream to the helper inside a running instance.
    ///
    /// # Errors
    /// `not-found`, `wrong-state` when it does not run, `unavailable` when it does
    /// not answer.
    pub async fn open_stream(&self, id: &InstanceId) -> Result<(tokio::net::UnixStream, Session)> {
        let instance = self.known(id)?;
        let meta = instance.meta().ok_or_else(|| not_here(id))?;
        if meta.phase != Phase::Running || !instance.running() {
            return Err(Error::new(Cause::WrongState, "the instance is not running").hint("start it first"));
        }
        let session = instance.session();
        let stream = guest::connect(&instance.folders.run(), self.user_of(&meta)).await?;
        Ok((stream, session))
    }

    /// The host user of the helper inside, where instances have users of their own.
    fn user_of(&self, meta: &Meta) -> Option<u32> {
        self.0.runner.user_of(meta)
    }
}

/// Runs to the end even when the caller goes away: half an action is nobody's wish.
async fn to_the_end<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    tokio::spawn(work).await.map_err(Error::internal)?
}

impl Engine for Node {
    async fn info(&self) -> Result<NodeInfo> {
        let inner = &self.0;
        let name = inner.config.name.clone().unwrap_or_else(|| {
            let uname = rustix::system::uname();
            uname.nodename().to_string_lossy().into_owned()
        });
        let mut notices = inner.runner.notices().await;
        notices.extend(inner.cards.notices());
        Ok(NodeInfo {
            name,
            agent_version: env!("CARGO_PKG_VERSION").into(),
            boot_id: inner.evidence.boot_id().into(),
            cpus: self.cores(),
            memory_mib: memory_mib(),
            // A pool that cannot be asked has no room; the notices say why.
            disk_free_mib: inner.runner.disk_free_mib().await.unwrap_or(0),
            isolation: inner.runner.isolation().into(),
            notices,
            devices: inner.cards.facts(),
            inventory_version: inner.evidence.inventory_version(),
        })
    }

    async fn create(&self, spec: &InstanceSpec) -> Result<()> {
        let (this, spec) = (self.clone(), spec.clone());
        to_the_end(async move { this.create_now(spec).await }).await
    }

    async fn start(&self, instance: &InstanceRef) -> Result<Ready> {
        let (this, instance) = (self.clone(), instance.clone());
        to_the_end(async move { this.start_now(&instance).await }).await
    }

    async fn stop(&self, instance: &InstanceRef, grace: Span) -> Result<Stopped> {
        let (this, instance) = (self.clone(), instance.clone());
        to_the_end(async move { this.stop_now(&instance, grace).await }).await
    }

    async fn delete(&self, instance: &InstanceRef) -> Result<()> {
        let (this, instance) = (self.clone(), instance.clone());
        to_the_end(async move { this.delete_now(&instance).await }).await
    }

    async fn list(&self) -> Result<Vec<Alive>> {
        Ok(self.all().iter().filter_map(|i| i.alive()).collect())
    }

    async fn stats(&self, id: &InstanceId) -> Result<Stats> {
        let instance = self.known(id)?;
        let meta = instance.meta().ok_or_else(|| not_here(id))?;
        let now = self.now();
        let measured = instance.measured();
        // Where the groups do not count, the sampler's own count serves.
        let usage = self.usage(&meta).or(measured.usage);
        let ready = meta.ready.as_ref().map_or(now, |r| r.at);
        let activity = match (measured.activity.as_str(), measured.now.as_str()) {
            ("", "") => "nothing was measured yet".to_owned(),
            ("", now) => format!("no activity since ready; now {now}"),
            (then, now) => format!("last activity: {then}; now {now}"),
        };
        Ok(Stats {
            at: now,
            cpu_used: Span::from_micros(usage.cpu_us.unwrap_or(0)),
            cpu_milli: measured.cpu_milli,
            memory_used_mib: usage.memory_bytes.unwrap_or(0) >> 20,
            processes: usage.processes.unwrap_or(0),
            sessions: instance.sessions(),
            last_active_at: measured.last_active_at.unwrap_or(ready).max(ready),
            activity,
            devices: self.0.cards.samples_of(&meta.spec.devices),
        })
    }

    async fn report(&self, after: Timestamp, wait: Span) -> Result<NodeReport> {
        let view = || (self.all().iter().filter_map(|i| i.alive()).collect(), self.0.cards.samples());
        Ok(self.0.evidence.report(after, wait, view).await)
    }
}

fn memory_mib() -> i64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = text.lines().find_map(|l| l.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<i64>().ok());
    kib.unwrap_or(0) / 1_024
}
