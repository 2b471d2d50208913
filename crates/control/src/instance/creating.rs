//! Cards are allocated; the engine prepares.

use base::{Cause, Result};
use domain::instance::{Desired, State};
use engine::Engine;
use futures_util::FutureExt;
use store::instances::Reason;
use store::{allocations, inside, settings};

use super::spec::spec;
use super::{Step, change, go, patience};
use crate::Clock;

pub(super) async fn step<C: Clock, E: Engine>(step: Step<'_, C, E>) -> Result<()> {
    if step.instance.desired != Desired::Running {
        return step.stop_as_wished().await;
    }
    let (devices, token, url) = {
        let mut db = step.control.store.read().await?;
        let devices = allocations::held_by(&mut db, &step.instance.id).await?;
        let token = inside::to_hand_over(&mut db, &step.instance.id).await?;
        (devices, token, settings::get(&mut db).await?.public_url)
    };
    let spec = spec(&step.instance, devices.into_iter().map(|d| d.uuid).collect(), token, url);
    if !step.still_ours().await? {
        return Ok(());
    }
    engine::fault::point("instance.creating.before-engine");
    let created = match step.engine() {
        Ok(engine) => engine.create(&spec).await,
        Err(error) => Err(error),
    };
    engine::fault::point("instance.creating.after-engine");
    match created {
        Ok(()) => {
            let now = step.control.clock.now();
            step.apply(change(move |tx, mut i| {
                async move {
                    inside::handed_over(tx, &i.id).await?;
                    let next = if i.desired == Desired::Running { State::Starting } else { State::Stopping };
                    go(&mut i, next, now);
                    Ok(i)
                }
                .boxed()
            }))
            .await
        }
        Err(error) if error.cause() == Cause::Unavailable && !step.is_overdue() => {
            let until = step.now.after(patience(step.instance.state_since, step.now));
            step.wait(until, "its machine does not answer").await
        }
        Err(error) => {
            tracing::info!(%error, id = %step.instance.id, "creating failed");
            step.stop_because(Reason::of(&error, State::Failed)).await
        }
    }
}
