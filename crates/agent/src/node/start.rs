//! Starts a generation and proves that the renter can use it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use base::{Cause, Error, Result};
use engine::{InstanceRef, Ready};
use tokio::time::Instant;

use super::{Instance, Node, not_here, stale};
use crate::meta::{Meta, Phase};
use crate::process::Process;
use crate::runner::{Launched, READY_WITHIN, died_early};
use crate::{files, guest};

impl Node {
    pub(super) async fn start_now(&self, reference: &InstanceRef) -> Result<Ready> {
        let instance = self.known(&reference.id)?;
        let _op = instance.op.lock().await;
        let mut meta = instance.meta().ok_or_else(|| not_here(&reference.id))?;
        let known = meta.spec.instance.generation;
        if known > reference.generation {
            return Err(stale(known, reference.generation));
        }
        if known < reference.generation {
            return Err(Error::not_found(format!("generation {} of instance {}", reference.generation, reference.id)));
        }
        let died = || {
            Error::new(Cause::InitDied, "the first process of this generation has ended").hint("start a new generation")
        };
        match meta.phase {
            Phase::Running if instance.running() => {
                return meta.ready.ok_or_else(|| Error::internal("a running instance without proof"));
            }
            Phase::Running => {
                self.record_death(&instance, &mut meta, self.now(), Cause::InitDied)?;
                self.tear_down(&instance, &meta).await?;
                return Err(died());
            }
            Phase::Ended => return Err(died()),
            Phase::Stopping | Phase::Stopped => {
                return Err(Error::new(Cause::WrongState, "this generation was stopped").hint("start a new generation"));
            }
            Phase::Starting => {
                // An earlier try was cut off; whatever it started is not known to be whole.
                if let Some(init) = instance.init() {
                    init.signal(rustix::process::Signal::KILL);
                }
                self.0.runner.release(&meta).await?;
                self.make(&instance, meta).await?;
            }
            Phase::Created if meta.boot_id == self.0.evidence.boot_id() => {}
            Phase::Created | Phase::Creating => self.make(&instance, meta).await?,
        }
        let mut meta = instance.meta().ok_or_else(|| not_here(&reference.id))?;
        match self.bring_up(&instance, &mut meta).await {
            Ok(ready) => Ok(ready),
            Err(error) => {
                self.back_to_created(&instance, meta).await;
                Err(error)
            }
        }
    }

    /// After a failed start nothing runs, and `start` may be tried again.
    async fn back_to_created(&self, instance: &Instance, mut meta: Meta) {
        if let Some(init) = instance.init() {
            init.signal(rustix::process::Signal::KILL);
        }
        instance.set_init(None);
        meta.init = None;
        let outcome = match self.0.runner.release(&meta).await {
            Ok(()) => {
                meta.phase = Phase::Creating;
                self.save(instance, &meta, true)
            }
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            tracing::error!(%error, id = %instance.id, "a failed start could not be cleared away");
        }
    }

    async fn bring_up(&self, instance: &Arc<Instance>, meta: &mut Meta) -> Result<Ready> {
        let deadline = Instant::now() + READY_WITHIN;
        meta.phase = Phase::Starting;
        meta.init = None;
        meta.on_start_reported = false;
        // Not durable: nothing that starts here outlives a power cut.
        self.save(instance, meta, false)?;
        engine::fault::point("agent.start.after-intent");
        let folders = &instance.folders;
        let user = self.user_of(meta);
        files::remove_folder(&folders.run())?;
        files::folder(&folders.run(), 0o700, user.map(|u| (u, u)))?;
        if let Some(token) = &meta.spec.token {
            let own = |path: &std::path::Path, text: &str| files::private(path, text.as_bytes(), user.map(|u| (u, u)));
            own(&folders.token(), token)?;
            // With these two the command line inside knows where the token is good, and for what.
            own(&folders.run().join("instance"), meta.spec.instance.id.as_str())?;
            if let Some(url) = meta.spec.env.get("SUANLI_URL") {
                own(&folders.run().join("url"), url)?;
            }
        }
        let Launched { init: id, numbers } = self.0.runner.launch(folders, meta, deadline).await?;
        let early = || died_early(folders);
        engine::fault::point("agent.start.after-spawn");
        let init = Arc::new(id.open(self.0.evidence.boot_id()).ok_or_else(early)?);
        meta.init = Some(id);
        instance.set_init(Some(init.clone()));
        self.save(instance, meta, false)?;

        let proof = self.prove(instance, meta, &init, numbers.as_ref());
        let evidence = match tokio::time::timeout_at(deadline, proof).await {
            Ok(outcome) => outcome?,
            Err(_) => {
                return Err(Error::new(
                    Cause::NotReadyInTime,
                    format!("the instance was not ready within {} s", READY_WITHIN.as_secs()),
                )
                .hint("the node may be overloaded; try again or on another node")
                .context(files::tail(&folders.log(), 400)));
            }
        };
        engine::fault::point("agent.start.after-proof");
        let ready = Ready { at: self.now(), notices: meta.notices.clone(), evidence };
        meta.ready = Some(ready.clone());
        meta.phase = Phase::Running;
        self.save(instance, meta, true)?;
        instance.set_measured(super::Measured::default());
        self.watch(instance, init);
        engine::fault::point("agent.start.after-ready");
        Ok(ready)
    }

    /// Waits until the helper answers, compares the cards that it sees and runs a shell.
    async fn prove(
        &self,
        instance: &Instance,
        meta: &Meta,
        init: &Process,
        numbers: Option<&BTreeSet<String>>,
    ) -> Result<String> {
        let (run, user) = (instance.folders.run(), self.user_of(meta));
        let socket = run.join("guest.sock");
        while !socket.exists() {
            if !init.alive() {
                return Err(died_early(&instance.folders));
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let seen = guest::look(guest::connect(&run, user).await?).await?;
        if let Some(numbers) = numbers
            && seen.devices != *numbers
        {
            let list = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
            return Err(Error::new(
                Cause::EngineFailed,
                format!("inside, the cards [{}] show, but it holds [{}]", list(&seen.devices), list(numbers)),
            )
            .hint("check the device nodes on the node"));
        }
        guest::shell(guest::connect(&run, user).await?).await?;
        let cards = match numbers {
            None => "device numbers are not compared without isolation".to_owned(),
            Some(numbers) if numbers.is_empty() => "no card shows inside, as none was ordered".to_owned(),
            Some(numbers) => {
                let list: Vec<&str> = numbers.iter().map(String::as_str).collect();
                format!("exactly the device numbers {} show inside", list.join(", "))
            }
        };
        Ok(format!("the helper inside answered as user {}, {cards}, and a shell ran", seen.uid))
    }
}
