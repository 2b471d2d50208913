//! At rest: nothing happens until its owner asks for a release (a start is a new request).

use base::Result;
use domain::instance::{Desired, State};
use engine::Engine;
use futures_util::FutureExt;

use super::{Step, change, go};
use crate::Clock;

pub(super) async fn step<C: Clock, E: Engine>(step: Step<'_, C, E>) -> Result<()> {
    let now = step.control.clock.now();
    step.apply(change(move |_, mut i| {
        async move {
            if i.desired == Desired::Released && i.state != State::Released {
                go(&mut i, State::Releasing, now);
            } else {
                i.due_at = None;
            }
            Ok(i)
        }
        .boxed()
    }))
    .await
}
