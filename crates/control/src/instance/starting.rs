//! Started, not proven ready yet.

use base::{Cause, Error, Result, SegmentId, Timestamp};
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
async fn became_ready(tx: &mut Tx<'_>, mut i: Instance, ready: Ready, now: Timestamp) -> Outcome<Instance> {
    if i.desired != Desired::Running {
        go(&mut i, State::Stopping, now);
        return Ok(i);
    }
    let Some(node) = i.node.clone() else {
        return Err(Error::internal(format!("{} is ready on no node", i.id)).into());
    };
    // A machine that came back with its clock behind proves a moment before this was
    // even asked for: the meter must not begin there.
    let ready_at = if ready.at < i.state_since { now } else { ready.at };
    let devices = allocations::held_by(tx, &i.id).await?;
    let fake = devices.iter().any(|d| d.fake);
    let segment = Segment {
        id: SegmentId::new(ready_at, tx.random()),
        instance: i.id.clone(),
        account: i.account.clone(),
        node,
        generation: i.generation,
        kind: "device".into(),
        rate: i.rate,
        price_version: i.price_version.clone(),
        plan: i.plan,
        from: ready_at,
        to: None,
        posted: base::Money::ZERO,
        evidence: ready.evidence,
        closed_by: None,
        devices: devices.into_iter().map(|d| d.serial.unwrap_or(d.uuid)).collect(),
        due_at: None,
    };
    open(tx, &segment, now).await?;
    accounts::nudge(tx, &i.account, now).await?;
    i.ready_at = Some(ready_at);
    i.notices = ready.notices;
    if fake {
        i.notices.insert(0, FAKE.into());
    }
    go(&mut i, State::Running, now);
    let data = json!({ "ready_at": ready_at, "evidence": segment.evidence });
    events::record(tx, now, Some(&i.account), i.id.as_str(), "ready", "proven ready: the meter runs", &data).await?;
    Ok(i)
}

/// Opens the segment, less the holes in the evidence that were heard of after the
/// proof and before this result: each leaves a closed piece before it.
async fn open(tx: &mut Tx<'_>, segment: &Segment, now: Timestamp) -> Outcome<()> {
    const END: Timestamp = Timestamp::from_micros(i64::MAX);
    let holes = segments::gaps(tx, &segment.node, segment.from, END).await?;
    let holes: Vec<_> = holes.into_iter().map(|hole| (hole.from, hole.to)).collect();
    for (from, to) in billing::segment::billable(segment.from, END, &holes) {
        let mut piece = Segment { from, ..segment.clone() };
        if to != END {
            piece.id = SegmentId::new(from, tx.random());
            (piece.to, piece.due_at, piece.closed_by) = (Some(to), Some(now), Some("node-lost".into()));
        }
        if !segments::insert(tx, &piece).await? {
            return Err(Error::internal(format!("{} has an open segment already", piece.instance)).into());
        }
    }
    Ok(())
}
