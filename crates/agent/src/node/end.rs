//! Ends generations: asked for, forced, or found dead.

use base::{Cause, Error, Result, Span, Timestamp};
use engine::report::Ended;
use engine::{InstanceRef, Stopped};
use rustix::process::Signal;
use std::sync::Arc;

use super::{Instance, Node, stale};
use crate::files;
use crate::meta::{Meta, Phase};
use crate::process::Process;

impl Node {
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
            if let Some(init) = instance.init().filter(|init| init.alive()) {
                self.0.runner.ask_to_end(&meta, &init, grace).await;
            }
            engine::fault::point("agent.stop.after-end");
            self.tear_down(&instance, &meta).await?;
            engine::fault::point("agent.stop.after-release");
        }
        Ok(Stopped { at: self.now() })
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
        self.0.runner.delete(&meta).await?;
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
        self.0.runner.release(meta).await?;
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
            if this.take_up_again(&instance, &mut meta).await {
                return;
            }
            if let Err(error) = this.record_death(&instance, &mut meta, at, Cause::InitDied) {
                tracing::error!(%error, id = %instance.id, "a death could not be written down");
            }
            if let Err(error) = this.tear_down(&instance, &meta).await {
                tracing::error!(%error, id = %instance.id, "a dead instance could not be cleared away");
            }
        });
    }

    /// After a restart from inside, which the renter may do as on any machine, the same
    /// generation goes on with another first process.
    async fn take_up_again(&self, instance: &Arc<Instance>, meta: &mut Meta) -> bool {
        let Some(launched) = self.0.runner.came_back(&instance.folders, meta).await else {
            return false;
        };
        let Some(init) = launched.init.open(self.0.evidence.boot_id()).map(Arc::new) else {
            return false;
        };
        tracing::info!(id = %instance.id, "was restarted from inside");
        meta.init = Some(launched.init);
        instance.set_init(Some(init.clone()));
        if let Err(error) = self.save(instance, meta, true) {
            tracing::error!(%error, id = %instance.id, "a restart from inside could not be written down");
        }
        self.watch(instance, init);
        true
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
