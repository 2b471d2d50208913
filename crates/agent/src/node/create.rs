//! Makes everything that a generation needs before it can start.

use base::{Cause, Error, Result};
use engine::InstanceSpec;

use super::{Instance, Node, stale};
use crate::files;
use crate::meta::{Meta, Phase};

/// User ids from the base upwards that the agent may hand out.
const USERS: u32 = 65_536;

impl Node {
    pub(super) async fn create_now(&self, spec: InstanceSpec) -> Result<()> {
        let reference = &spec.instance;
        if let Some(error) = self.0.runner.refusal() {
            return Err(error);
        }
        let instance = self.slot(&reference.id);
        let _op = instance.op.lock().await;
        if let Some(tomb) = self.0.tombs.generation(&reference.id)
            && tomb >= reference.generation
        {
            return Err(stale(tomb, reference.generation));
        }
        let before = instance.meta();
        if let Some(known) = &before {
            let generation = known.spec.instance.generation;
            if generation > reference.generation {
                return Err(stale(generation, reference.generation));
            }
            if generation == reference.generation {
                match known.phase {
                    Phase::Created | Phase::Starting | Phase::Running => return Ok(()),
                    Phase::Creating => {}
                    Phase::Stopping | Phase::Ended | Phase::Stopped => return Err(stale(generation, generation)),
                }
            }
            if known.held {
                // A newer holder takes over: what the older one left must end first.
                self.tear_down(&instance, known).await?;
            }
        }
        self.0.runner.check_room(&spec, before.is_none()).await?;
        let meta = self.claim(&instance, spec, before.as_ref())?;
        match self.make(&instance, meta.clone()).await {
            Ok(()) => Ok(()),
            Err(error) => {
                self.undo(&instance, &meta, before).await;
                Err(error)
            }
        }
    }

    /// Takes cards, user and network block, all or none, before anything is made.
    fn claim(&self, instance: &Instance, spec: InstanceSpec, before: Option<&Meta>) -> Result<Meta> {
        self.0.cards.facts_of(&spec.devices)?;
        let instances = self.instances();
        let others: Vec<Meta> = instances.values().filter(|i| i.id != instance.id).filter_map(|i| i.meta()).collect();
        for other in others.iter().filter(|m| m.held) {
            if let Some(card) = other.spec.devices.iter().find(|d| spec.devices.contains(d)) {
                return Err(Error::new(Cause::DeviceBusy, format!("card {card} is held by another instance"))
                    .hint("wait until that instance has stopped")
                    .context(format!("held by {}", other.spec.instance.id)));
            }
        }
        let free = |taken: &dyn Fn(&Meta) -> u32, first: u32, count: u32, what: &str| {
            (first..first.saturating_add(count)).find(|n| others.iter().all(|m| taken(m) != *n)).ok_or_else(|| {
                Error::new(Cause::EngineFailed, format!("the node has no {what} left for another instance"))
                    .hint("delete stopped instances")
            })
        };
        let (uid, net_index) = match before {
            Some(meta) => (meta.uid, meta.net_index),
            None => (
                free(&|m| m.uid, self.0.config.uid_base, USERS, "user id")?,
                free(&|m| m.net_index, 0, self.0.runner.capacity(), "network address")?,
            ),
        };
        let meta = Meta {
            spec,
            uid,
            net_index,
            phase: Phase::Creating,
            held: true,
            init: None,
            ready: None,
            on_start_reported: false,
            boot_id: self.0.evidence.boot_id().to_owned(),
            notices: Vec::new(),
        };
        // Shown while the list is locked: nobody else can take the same card.
        instance.set_meta(Some(meta.clone()));
        Ok(meta)
    }

    /// Makes or completes the parts of a generation that do not outlive it, and the
    /// renter's folders if they are missing.
    pub(super) async fn make(&self, instance: &Instance, mut meta: Meta) -> Result<()> {
        let folders = &instance.folders;
        let owner = self.user_of(&meta);
        let (outer, theirs) = match owner {
            Some(uid) => (Some((0, uid)), Some((uid, uid))),
            None => (None, None),
        };
        files::folder(&folders.root, 0o710, outer)?;
        meta.phase = Phase::Creating;
        meta.boot_id = self.0.evidence.boot_id().to_owned();
        meta.notices.clear();
        self.save(instance, &meta, true)?;
        engine::fault::point("agent.create.after-intent");
        for folder in [folders.home(), folders.workspace()] {
            files::folder(&folder, 0o700, theirs)?;
        }
        files::folder(&folders.opt(), 0o755, None)?;
        files::folder(&folders.opt().join("lib"), 0o755, None)?;
        files::replace(&folders.opt().join("guest"), b"", 0o644, false)?;
        self.0.cards.write_instance_state(&folders.opt(), &meta.spec.devices)?;

        self.0.runner.make(folders, &mut meta).await?;
        meta.notices.dedup();
        meta.phase = Phase::Created;
        engine::fault::point("agent.create.before-done");
        self.save(instance, &meta, true)?;
        engine::fault::point("agent.create.after-done");
        Ok(())
    }

    /// Takes a failed creation back; data of earlier generations stay.
    async fn undo(&self, instance: &Instance, meta: &Meta, before: Option<Meta>) {
        if let Err(error) = self.0.runner.release(meta).await {
            tracing::error!(%error, id = %instance.id, "a failed creation could not be taken back wholly");
        }
        match before {
            Some(mut old) => {
                old.held = false;
                old.init = None;
                if !matches!(old.phase, Phase::Ended) {
                    old.phase = Phase::Stopped;
                }
                if let Err(error) = self.save(instance, &old, true) {
                    tracing::error!(%error, id = %instance.id, "the old state could not be written back");
                    instance.set_meta(Some(old));
                }
            }
            None => {
                if let Err(error) = files::remove_folder(&instance.folders.root) {
                    tracing::error!(%error, id = %instance.id, "the folder of a failed creation is left");
                }
                instance.set_meta(None);
            }
        }
    }
}
