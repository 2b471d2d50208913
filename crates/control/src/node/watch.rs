//! One loop per node: ask for everything that is proven since the last time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base::{NodeId, Result, Span, Timestamp};
use domain::catalogue::Catalogue;
use engine::{Engine, NodeInfo, NodeReport};
use futures_util::FutureExt;
use store::nodes::{self, Inventory};
use store::{incidents, nodes::Node};

use super::{evidence, reconcile};
use crate::{Clock, Control};

/// How long a question may stay open while there is no news.
const WAIT: Span = Span::from_secs(1);

/// Silence after which a node takes no new instances.
const LOST_AFTER: Span = Span::from_secs(10);

/// Connects an engine: asks what its node is, stores it, and makes the engine known.
///
/// # Errors
/// The engine cannot be reached, or the database's.
pub async fn register<C: Clock, E: Engine>(control: &Control<C, E>, engine: Arc<E>) -> Result<NodeId> {
    let info = engine.info().await?;
    let node = store_inventory(control, &info).await?;
    control.engines.set(node.clone(), engine);
    Ok(node)
}

/// Hears one node until the future is dropped.
pub async fn run<C: Clock, E: Engine>(control: Control<C, E>, engine: Arc<E>, node: NodeId) {
    let mut watch = Watch::new(control, engine, node);
    loop {
        if watch.hear().await.is_err() {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}

/// Hears one node, round by round.
pub struct Watch<C, E> {
    control: Control<C, E>,
    engine: Arc<E>,
    node: NodeId,
    /// When anybody was last known to have heard it, by the clock of this server.
    heard: Timestamp,
    /// The same as that server wrote it down, by a clock that may be another one.
    seen_at: Timestamp,
    seen: Seen,
}

/// What was the same at the last report needs no work again. Empty after a
/// failure and after a restart: then everything is compared and written once.
#[derive(Default)]
struct Seen {
    alive: Option<Vec<engine::Alive>>,
    lost: BTreeMap<String, bool>,
    in_touch: bool,
    clock_step: Option<bool>,
}

impl<C: Clock, E: Engine> Watch<C, E> {
    /// Begins to hear `node` through `engine`.
    pub fn new(control: Control<C, E>, engine: Arc<E>, node: NodeId) -> Self {
        let heard = control.clock.now();
        Self { control, engine, node, heard, seen_at: Timestamp::EPOCH, seen: Seen::default() }
    }

    /// Asks once and writes down what the answer proves; silence that lasts
    /// takes the node out of stock and opens an incident.
    ///
    /// # Errors
    /// The engine's or the database's, after it was logged.
    pub async fn hear(&mut self) -> Result<()> {
        let done = self.round().await;
        let now = self.control.clock.now();
        match &done {
            Ok(()) => {
                if now.since(self.heard) > LOST_AFTER {
                    tracing::info!(node = %self.node, "the node is back");
                }
                self.heard = now;
            }
            Err(error) => {
                tracing::warn!(%error, node = %self.node, "the node was not heard");
                self.seen = Seen::default();
                if now.since(self.heard) > LOST_AFTER
                    && let Err(error) = mark_lost(&self.control, &self.node, self.seen_at).await
                {
                    tracing::error!(%error, node = %self.node, "marking the node as lost is tried again");
                }
            }
        }
        done
    }

    async fn round(&mut self) -> Result<()> {
        let Self { control, engine, node, seen, .. } = self;
        let stored = stored(control, node).await?;
        // Another server may have heard it while this one did not, or stood still.
        if stored.seen_at != self.seen_at {
            (self.seen_at, self.heard) = (stored.seen_at, control.clock.now());
        }
        let report = engine.report(stored.proven_until, WAIT).await?;
        if report.inventory_version != stored.inventory_version || report.boot_id != stored.boot_id {
            store_inventory(control, &engine.info().await?).await?;
            // That said of every device that it answers.
            seen.lost.clear();
        }
        evidence::apply(control, node, &report).await?;
        devices(control, &report, seen).await?;
        clock_step(control, node, &report, seen).await?;
        if !seen.in_touch {
            close(control, "node-out-of-touch", node.as_str()).await?;
            seen.in_touch = true;
        }
        if seen.alive.as_ref() != Some(&report.alive) {
            let done = reconcile::compare(control, engine, node, &report, stored.proven_until).await?;
            seen.alive = done.then_some(report.alive);
        }
        control.engines.keep_samples(report.samples);
        Ok(())
    }
}

async fn close<C: Clock, E: Engine>(control: &Control<C, E>, kind: &'static str, subject: &str) -> Result<()> {
    let (subject, now) = (subject.to_owned(), control.clock.now());
    control
        .store
        .write(move |tx| {
            let subject = subject.clone();
            async move { incidents::close(tx, now, kind, &subject).await }.boxed()
        })
        .await
}

async fn stored<C: Clock, E: Engine>(control: &Control<C, E>, node: &NodeId) -> Result<Node> {
    let mut db = control.store.read().await?;
    let found = nodes::get(&mut db, node).await?;
    found.ok_or_else(|| base::Error::internal(format!("{node} is not in the store")))
}

async fn store_inventory<C: Clock, E: Engine>(control: &Control<C, E>, info: &NodeInfo) -> Result<NodeId> {
    let known = Catalogue::builtin();
    let gpu = |d: &domain::device::DeviceFacts| known.identify(&d.name, d.memory_mib).map(|m| m.slug.clone());
    let inventory = Inventory {
        name: info.name.clone(),
        isolation: info.isolation.clone(),
        cpus: info.cpus,
        memory_mib: info.memory_mib,
        disk_mib: info.disk_free_mib,
        notices: info.notices.clone(),
        version: info.inventory_version,
        boot_id: info.boot_id.clone(),
        devices: info.devices.iter().map(|d| (d.clone(), gpu(d))).collect(),
    };
    let now = control.clock.now();
    control
        .store
        .write(move |tx| {
            let inventory = inventory.clone();
            async move { nodes::register(tx, &inventory, now).await }.boxed()
        })
        .await
}

async fn mark_lost<C: Clock, E: Engine>(control: &Control<C, E>, node: &NodeId, seen_at: Timestamp) -> Result<()> {
    let (node, now) = (node.clone(), control.clock.now());
    control
        .store
        .write(move |tx| {
            let node = node.clone();
            async move {
                if nodes::mark_lost(tx, &node, seen_at).await? {
                    let action = "see whether the machine runs and its agent answers (`suanli doctor` there); its renters are not charged for what nobody can prove";
                    let detail = format!("its agent was last heard at {seen_at}");
                    incidents::open(tx, now, "node-out-of-touch", node.as_str(), action, &detail).await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
}

/// Stores which devices stopped or began to answer since the last report.
async fn devices<C: Clock, E: Engine>(control: &Control<C, E>, report: &NodeReport, seen: &mut Seen) -> Result<()> {
    let changed: Vec<_> = report
        .samples
        .iter()
        .filter(|s| seen.lost.get(&s.uuid) != Some(&s.lost))
        .map(|s| (s.uuid.clone(), s.lost))
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let (news, now) = (changed.clone(), control.clock.now());
    control
        .store
        .write(move |tx| {
            let changed = changed.clone();
            async move {
                for (uuid, lost) in changed {
                    nodes::set_device_state(tx, &uuid, lost).await?;
                    if lost {
                        let action = "look at the machine's kernel log for Xid messages; the card is not rented out until it answers again";
                        incidents::open(tx, now, "device-lost", &uuid, action, "the card no longer answers").await?;
                    } else {
                        incidents::close(tx, now, "device-lost", &uuid).await?;
                    }
                }
                Ok(())
            }
            .boxed()
        })
        .await?;
    seen.lost.extend(news);
    Ok(())
}

/// A wall clock that moved is an incident, never a charge: durations are monotonic.
async fn clock_step<C: Clock, E: Engine>(
    control: &Control<C, E>,
    node: &NodeId,
    report: &NodeReport,
    seen: &mut Seen,
) -> Result<()> {
    let stepped = report.clock_step_us.abs() > 2_000_000;
    if seen.clock_step == Some(stepped) {
        return Ok(());
    }
    let (node, now) = (node.clone(), control.clock.now());
    let by = Span::from_micros(report.clock_step_us);
    control
        .store
        .write(move |tx| {
            let node = node.clone();
            async move {
                if stepped {
                    let action = "check the machine's time synchronisation, then restart its agent at a quiet moment";
                    let detail = format!("its wall clock moved by {by}; bills follow the monotonic clock");
                    incidents::open(tx, now, "clock-step", node.as_str(), action, &detail).await?;
                } else {
                    incidents::close(tx, now, "clock-step", node.as_str()).await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await?;
    seen.clock_step = Some(stepped);
    Ok(())
}
