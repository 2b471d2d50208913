//! The loop that claims due objects and steps them. One per kind of object.

use std::time::{Duration, Instant};

use base::{Result, Span};
use engine::Engine;
use futures_util::FutureExt;
use store::lease::{self, Kind, Lease};
use store::settlement;
use tokio::task::JoinSet;

use crate::{Clock, Control, account, instance, segment};

/// Objects of one kind that are stepped at the same time.
const AT_ONCE: usize = 64;

/// How long another server's work may go unnoticed where no nudge crosses processes.
const LOOK_AGAIN: Span = Span::from_millis(500);

/// Runs one kind's loop until the future is dropped.
pub async fn run<C: Clock, E: Engine>(control: Control<C, E>, kind: Kind) {
    let mut written = control.store.watch();
    let mut running = JoinSet::new();
    loop {
        written.mark_unchanged();
        while running.try_join_next().is_some() {}
        match round(&control, kind, &mut running).await {
            Ok(Round::Claimed) => continue,
            Ok(Round::Idle { until }) => {
                tokio::select! {
                    // The store lives as long as this loop, so the sender never ends first.
                    _ = written.changed() => {}
                    () = control.clock.sleep_until(until) => {}
                    Some(_) = running.join_next(), if running.len() >= AT_ONCE => {}
                }
            }
            Err(error) => {
                tracing::error!(%error, kind = kind.as_str(), "claiming failed; trying again");
                control.metrics.failure(kind.as_str());
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    }
}

enum Round {
    Claimed,
    Idle { until: base::Timestamp },
}

async fn round<C: Clock, E: Engine>(control: &Control<C, E>, kind: Kind, running: &mut JoinSet<()>) -> Result<Round> {
    let now = control.clock.now();
    let latest = now.after(LOOK_AGAIN);
    let room = AT_ONCE.saturating_sub(running.len());
    if room == 0 {
        return Ok(Round::Idle { until: latest });
    }
    let queue = {
        let mut db = control.store.read().await?;
        lease::queue(&mut db, kind, now).await?
    };
    if queue.due == 0 {
        return Ok(Round::Idle { until: queue.next_due.map_or(latest, |next| next.min(latest)) });
    }
    if kind == Kind::Segments
        && let Some(settled) = settle(control).await
    {
        return Ok(if settled > 0 { Round::Claimed } else { Round::Idle { until: latest } });
    }
    let claimed = claim(control, kind, room).await?;
    if claimed.is_empty() {
        // What is due is being stepped by somebody; its result will be a write or its lease will end.
        return Ok(Round::Idle { until: latest });
    }
    for lease in claimed {
        let control = control.clone();
        running.spawn(async move { step(&control, kind, &lease).await });
    }
    Ok(Round::Claimed)
}

/// Settling touches nothing outside the database, so many segments share one
/// transaction, and one follows the other while there is a full one. `None`: one
/// segment cannot be settled, and they have to be stepped one by one so that it
/// does not hold the others.
async fn settle<C: Clock, E: Engine>(control: &Control<C, E>) -> Option<usize> {
    let mut all = 0;
    loop {
        let began = Instant::now();
        match segment::settle_due(control).await {
            Ok(settled) => {
                let each = began.elapsed() / u32::try_from(settled.max(1)).unwrap_or(u32::MAX);
                (0..settled).for_each(|_| control.metrics.step(Kind::Segments.as_str(), "settle", each));
                all += settled;
                if settled < settlement::MOST {
                    return Some(all);
                }
            }
            Err(error) => {
                tracing::warn!(%error, "segments are settled one by one");
                return None;
            }
        }
    }
}

/// Claims due objects of one kind.
///
/// # Errors
/// The database's.
pub async fn claim<C: Clock, E: Engine>(control: &Control<C, E>, kind: Kind, limit: usize) -> Result<Vec<Lease>> {
    let now = control.clock.now();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    control.store.write(move |tx| lease::claim(tx, kind, now, limit).boxed()).await
}

/// Steps one claimed object. Trouble is logged here, once; the lease runs out
/// and the object is tried again.
pub async fn step<C: Clock, E: Engine>(control: &Control<C, E>, kind: Kind, lease: &Lease) {
    let began = Instant::now();
    let done = match kind {
        Kind::Instances => instance::step(control, lease).await,
        Kind::Segments => segment::step(control, lease).await.map(|()| "settle"),
        Kind::Accounts => account::step(control, lease).await.map(|()| "guard"),
    };
    match done {
        Ok(state) => control.metrics.step(kind.as_str(), state, began.elapsed()),
        Err(error) => {
            control.metrics.failure(kind.as_str());
            tracing::error!(%error, kind = kind.as_str(), id = %lease.id, "step failed; it is tried again");
        }
    }
}
