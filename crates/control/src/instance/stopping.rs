//! Processes end, cards are given back.

use base::{Cause, Error, Result, Span};
use domain::instance::{Desired, State};
use engine::Engine;
use futures_util::FutureExt;
use store::{accounts, allocations, segments};

use super::spec::reference;
use super::{Step, change, go, patience};
use crate::Clock;

/// How long the programs of an instance have to end by themselves.
const GRACE: Span = Span::from_secs(5);

pub(super) async fn step<C: Clock, E: Engine>(step: Step<'_, C, E>) -> Result<()> {
    if !step.still_ours().await? {
        return Ok(());
    }
    engine::fault::point("instance.stopping.before-engine");
    let ended = end(&step).await;
    engine::fault::point("instance.stopping.after-engine");
    match ended {
        Ok(()) => rest(&step).await,
        Err(error) => {
            // The cards stay its own until its machine says that nothing runs any more.
            tracing::warn!(%error, id = %step.instance.id, "stopping is tried again");
            let until = step.now.after(patience(step.instance.state_since, step.now));
            step.wait(until, "its machine has not confirmed the stop").await
        }
    }
}

/// What was never usable has no data worth keeping: it leaves nothing behind.
fn never_ran<C, E>(step: &Step<'_, C, E>) -> bool {
    step.instance.generation == 1 && step.instance.ready_at.is_none()
}

async fn end<C: Clock, E: Engine>(step: &Step<'_, C, E>) -> Result<()> {
    if step.instance.node.is_none() {
        return Ok(());
    }
    let (engine, instance) = (step.engine()?, reference(&step.instance));
    let ended: Result<()> =
        if never_ran(step) { engine.delete(&instance).await } else { engine.stop(&instance, GRACE).await.map(|_| ()) };
    match ended {
        // Gone already is what was wanted.
        Err(error) if matches!(error.cause(), Cause::NotFound) => Ok(()),
        Err(error) if error.cause() == Cause::StaleGeneration => {
            Err(Error::internal(error).context("the engine knows a newer generation than the store"))
        }
        done => done,
    }
}

async fn rest<C: Clock, E: Engine>(step: &Step<'_, C, E>) -> Result<()> {
    let now = step.control.clock.now();
    let never_ran = never_ran(step);
    step.apply(change(move |tx, mut i| {
        async move {
            // Normally closed when the stop was accepted; nothing may run on after this.
            segments::close(tx, &i.id, now, "stopped", now).await?;
            allocations::give_back(tx, &i.id, now).await?;
            accounts::unhold(tx, &i.id).await?;
            accounts::nudge(tx, &i.account, now).await?;
            if never_ran {
                i.node = None;
            }
            let rest = i.reason.as_ref().map_or(State::Stopped, |r| r.rest);
            let next = if i.desired == Desired::Released { State::Releasing } else { rest };
            go(&mut i, next, now);
            Ok(i)
        }
        .boxed()
    }))
    .await
}
