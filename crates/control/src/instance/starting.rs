//! Started, not proven ready yet.

use base::{Cause, Error, Result, SegmentId};
use domain::instance::{Desired, State};
use engine::{Engine, Ready};
use futures_util::FutureExt;
use serde_json::json;
use store::instances::{Instance, Reason};
use store::segments::{self, Segment};
use store::{Outcome, Tx, accounts, allocations, events};

use super::spec::reference;
use super::{Step, change, go, patience};
use crate::Clock;

/// What the renter of a fake card is told.
const FAKE: &str = "the cards are fake: their load follows what your programs do on the CPU, and CPU and memory are shared with others";

pub(super) async fn step<C: Clock, E: Engine>(step: Step<'_, C, E>) -> Result<()> {
    if step.instance.desired != Desired::Running {
        return step.stop_as_wished().await;
    }
    if !step.still_ours().await? {
        return Ok(());
    }
    engine::fault::point("instance.starting.before-engine");
    let started = match step.engine() {
        Ok(engine) => engine.start(&reference(&step.instance)).await,
        Err(error) => Err(error),
    };
    engine::fault::point("instance.starting.after-engine");
    match started {
        Ok(ready) => {
            let now = step.control.clock.now();
            step.apply(change(move |tx, i| became_ready(tx, i, ready.clone(), now).boxed())).await
        }
        Err(error) if error.cause() == Cause::Unavailable && !step.is_overdue() => {
            let until = step.now.after(patience(step.instance.state_since, step.now));
            step.wait(until, "its machine does not answer").await
        }
        Err(error) => {
            tracing::info!(%error, id = %step.instance.id, "starting failed");
            step.stop_because(Reason::of(&error, State::Failed)).await
        }
    }
}

/// The meter begins at the moment of the proof, in the transaction that says so.
async fn became_ready(tx: &mut Tx<'_>, mut i: Instance, ready: Ready, now: base::Timestamp) -> Outcome<Instance> {
    if i.desired != Desired::Running {
        go(&mut i, State::Stopping, now);
        return Ok(i);
    }
    let Some(node) = i.node.clone() else {
        return Err(Error::internal(format!("{} is ready on no node", i.id)).into());
    };
    let devices = allocations::held_by(tx, &i.id).await?;
    let fake = devices.iter().any(|d| d.fake);
    // A hole in the evidence that was heard of before this result is written.
    let holes = segments::gaps(tx, &node, ready.at, base::Timestamp::from_micros(i64::MAX)).await?;
    let from = holes.last().map_or(ready.at, |hole| hole.to.max(ready.at));
    let segment = Segment {
        id: SegmentId::new(ready.at, tx.random()),
        instance: i.id.clone(),
        account: i.account.clone(),
        node,
        generation: i.generation,
        kind: "device".into(),
        rate: i.rate,
        price_version: i.price_version.clone(),
        plan: i.plan,
        from,
        to: None,
        posted: base::Money::ZERO,
        evidence: ready.evidence,
        closed_by: None,
        devices: devices.into_iter().map(|d| d.serial.unwrap_or(d.uuid)).collect(),
        due_at: None,
    };
    if !segments::insert(tx, &segment).await? {
        return Err(Error::internal(format!("{} has an open segment already", i.id)).into());
    }
    accounts::nudge(tx, &i.account, now).await?;
    i.ready_at = Some(ready.at);
    i.notices = ready.notices;
    if fake {
        i.notices.insert(0, FAKE.into());
    }
    go(&mut i, State::Running, now);
    let data = json!({ "ready_at": ready.at, "evidence": segment.evidence });
    events::record(tx, now, Some(&i.account), i.id.as_str(), "ready", "proven ready: the meter runs", &data).await?;
    Ok(i)
}
