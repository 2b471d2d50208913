//! Ends generations: asked for, forced, or found dead.

use std::sync::Arc;
use std::time::Duration;

use base::{Cause, Error, Result, Span, Timestamp};
use engine::report::Ended;
use engine::{InstanceRef, Stopped};
use rustix::process::Signal;

use super::host::Isolation;
use super::instance::Instance;
use super::meta::{Meta, Phase};
use super::process::{self, Process};
use super::{Sandbox, stale};
use crate::files;

/// Rounds of ten milliseconds after which a killed process counts as stuck.
const KILL_ROUNDS: u32 = 500;

impl Sandbox {
    pub(super) async fn stop_now(&self, reference: &InstanceRef, grace: Span) -> Result<Stopped> {
        // Stopping what is not there has the wished-for result, and must keep it: its
        // creation may still be under way.
        let Ok(instance) = self.known(&reference.id) else {
            self.0.tombs.note(&reference.id, reference.generation)?;
            return Ok(Stopped { at: self.now() });
        };
        let _op = instance.op.lock().await;
        let Some(mut meta) = instance.meta() else {
            self.0.tombs.note(&reference.id, reference.generation)?;
            return Ok(Stopped { at: self.now() });
        };
        let known = meta.spec.instance.generation;
        if known > reference.generation {
            return Err(stale(known, reference.generation));
        }
        if known < reference.generation {
            self.0.tombs.note(&reference.id, reference.generation)?;
        }
        if meta.phase == Phase::Running && !instance.running() {
            self.record_death(&instance, &mut meta, self.now(), Cause::InitDied)?;
        }
        if meta.held {
            if meta.phase != Phase::Ended {
                meta.phase = Phase::Stopping;
                self.save(&instance, &meta, true)?;
            }
            engine::fault::point("agent.stop.after-intent");
            self.ask_to_end(&instance, &meta, grace).await;
            engine::fault::point("agent.stop.after-end");
            self.tear_down(&instance, &meta).await?;
            engine::fault::point("agent.stop.after-release");
        }
        Ok(Stopped { at: self.now() })
    }

    /// Asks the first process to end and waits for it, at most `grace`.
    async fn ask_to_end(&self, instance: &Instance, meta: &Meta, grace: Span) {
        let Some(init) = instance.init().filter(|init| init.alive()) else {
            return;
        };
        init.signal(Signal::TERM);
        let grace = Duration::from_micros(grace.micros().max(0).unsigned_abs());
        if tokio::time::timeout(grace, init.ended()).await.is_err() {
            tracing::info!(id = %instance.id, unit = meta.unit(), "did not end when asked; forced");
        }
    }

    pub(super) async fn delete_now(&self, reference: &InstanceRef) -> Result<()> {
        let Ok(instance) = self.known(&reference.id) else {
            return self.0.tombs.note(&reference.id, reference.generation);
        };
        let _op = instance.op.lock().await;
        let Some(meta) = instance.meta() else {
            return Ok(());
        };
        let known = meta.spec.instance.generation;
        if known > reference.generation {
            return Err(stale(known, reference.generation));
        }
        if meta.held {
            self.tear_down(&instance, &meta).await?;
        }
        self.0.tombs.note(&reference.id, reference.generation)?;
        engine::fault::point("agent.delete.after-intent");
        // One rename decides; what is in the trash is removed at the next start too.
        let trash = self.state_dir().join("trash").join(meta.unit());
        files::remove_folder(&trash)?;
        std::fs::rename(&instance.folders.root, &trash)
            .map_err(|e| files::error("remove", &instance.folders.root, &e))?;
        engine::fault::point("agent.delete.after-rename");
        instance.set_meta(None);
        instance.set_init(None);
        let removed = tokio::task::spawn_blocking(move || files::remove_folder(&trash));
        removed.await.map_err(Error::internal)?
    }

    /// Ends everything of a generation and gives back what it held; data stay.
    pub(super) async fn tear_down(&self, instance: &Instance, meta: &Meta) -> Result<()> {
        if let Some(init) = instance.init() {
            init.signal(Signal::KILL);
        }
        self.release(meta).await?;
        for folder in [instance.folders.dev(), instance.folders.run()] {
            files::remove_folder(&folder)?;
        }
        let mut over = meta.clone();
        over.held = false;
        over.init = None;
        if over.phase != Phase::Ended {
            over.phase = Phase::Stopped;
        }
        self.save(instance, &over, true)?;
        instance.set_init(None);
        Ok(())
    }

    /// Kills the processes and removes groups and network; missing parts are fine.
    pub(super) async fn release(&self, meta: &Meta) -> Result<()> {
        let host = &self.0.host;
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
    pub(super) fn processes_outside_groups(&self, meta: &Meta) -> Vec<i32> {
        match self.user_of(meta) {
            Some(uid) => process::of_user(uid),
            None => process::with_environment(&format!("SUANLI_INSTANCE={}", meta.spec.instance.slug)),
        }
    }

    /// Waits in the background for the first process to end.
    pub(super) fn watch(&self, instance: &Arc<Instance>, init: Arc<Process>) {
        let (this, instance) = (self.clone(), instance.clone());
        tokio::spawn(async move {
            init.ended().await;
            let at = this.now();
            let _op = instance.op.lock().await;
            let same = instance.init().is_some_and(|current| Arc::ptr_eq(&current, &init));
            let Some(mut meta) = instance.meta().filter(|m| same && m.phase == Phase::Running) else {
                return;
            };
            if let Err(error) = this.record_death(&instance, &mut meta, at, Cause::InitDied) {
                tracing::error!(%error, id = %instance.id, "a death could not be written down");
            }
            if let Err(error) = this.tear_down(&instance, &meta).await {
                tracing::error!(%error, id = %instance.id, "a dead instance could not be cleared away");
            }
        });
    }

    /// Notes that the end of `on_start` is in the evidence. The caller holds `op`.
    ///
    /// # Errors
    /// As [`files::replace`].
    pub fn on_start_reported(&self, instance: &Instance, mut meta: Meta) -> Result<()> {
        meta.on_start_reported = true;
        self.save(instance, &meta, false)
    }

    /// Records that a generation ended by itself, first in the evidence, then in its
    /// own state: a crash between the two repeats the record, and never loses it.
    pub(super) fn record_death(&self, instance: &Instance, meta: &mut Meta, at: Timestamp, cause: Cause) -> Result<()> {
        let detail = match cause {
            Cause::NodeLost => "the node was restarted",
            _ => "the first process of the instance ended without being asked to",
        };
        let words = files::tail(&instance.folders.log(), 400);
        let reference = &meta.spec.instance;
        tracing::warn!(id = %reference.id, generation = reference.generation, %cause, words, "an instance ended by itself");
        self.0.evidence.ended(Ended {
            id: reference.id.clone(),
            generation: reference.generation,
            at,
            cause,
            detail: detail.into(),
        })?;
        meta.phase = Phase::Ended;
        self.save(instance, meta, true)
    }
}
