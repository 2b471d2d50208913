//! Data are being removed.

use base::{Cause, Result};
use domain::instance::State;
use engine::Engine;
use futures_util::FutureExt;
use store::{accounts, allocations};

use super::spec::reference;
use super::{Step, change, go, patience};
use crate::Clock;

pub(super) async fn step<C: Clock, E: Engine>(step: Step<'_, C, E>) -> Result<()> {
    if !step.still_ours().await? {
        return Ok(());
    }
    engine::fault::point("instance.releasing.before-engine");
    let removed = match (&step.instance.node, step.engine()) {
        (None, _) => Ok(()),
        (Some(_), Ok(engine)) => engine.delete(&reference(&step.instance)).await,
        (Some(_), Err(error)) => Err(error),
    };
    engine::fault::point("instance.releasing.after-engine");
    match removed {
        Err(error) if error.cause() != Cause::NotFound => {
            tracing::warn!(%error, id = %step.instance.id, "removing is tried again");
            let until = step.now.after(patience(step.instance.state_since, step.now));
            step.wait(until, "its machine has not confirmed the removal").await
        }
        _ => {
            let now = step.control.clock.now();
            step.apply(change(move |tx, mut i| {
                async move {
                    allocations::give_back(tx, &i.id, now).await?;
                    accounts::unhold(tx, &i.id).await?;
                    i.released_at = Some(now);
                    go(&mut i, State::Released, now);
                    Ok(i)
                }
                .boxed()
            }))
            .await
        }
    }
}
