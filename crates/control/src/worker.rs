//! The loop that claims due objects and steps them. One per kind of object.

use std::pin::pin;
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

/// How often a step that takes long asks for more time.
const RENEW: Span = Span::from_micros(lease::LEASE.micros() / 3);

/// How long a step waits whose database was away.
const SOON: Span = Span::from_millis(500);

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
        running.spawn(async move { hold(&control, kind, &lease).await });
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

/// Steps one claimed object and renews its lease for as long as that takes.
async fn hold<C: Clock, E: Engine>(control: &Control<C, E>, kind: Kind, lease: &Lease) {
    let mut step = pin!(step(control, kind, lease));
    loop {
        let again = control.clock.now().after(RENEW);
        tokio::select! {
            biased;
            passing = &mut step => {
                if passing {
                    soon(control, kind, lease).await;
                }
                return;
            }
            () = control.clock.sleep_until(again) => {}
        }
        let (held, now) = (lease.clone(), control.clock.now());
        let renewed = control.store.write(move |tx| {
            let held = held.clone();
            async move { lease::renew(tx, kind, &held, now).await }.boxed()
        });
        // The step asks itself before it changes anything outside, so a lease that
        // was lost, or a database that is away, needs nothing here.
        if let Err(error) = renewed.await {
            tracing::debug!(%error, kind = kind.as_str(), id = %lease.id, "a lease could not be renewed");
        }
    }
}

/// Lets an object be claimed again soon whose step met a database that was away.
async fn soon<C: Clock, E: Engine>(control: &Control<C, E>, kind: Kind, lease: &Lease) {
    control.clock.sleep_until(control.clock.now().after(SOON)).await;
    let (held, now) = (lease.clone(), control.clock.now());
    let given = control.store.write(move |tx| {
        let held = held.clone();
        async move { lease::give_back(tx, kind, &held, now).await }.boxed()
    });
    // Still away: then the lease runs out by itself.
    drop(given.await);
}

/// Steps one claimed object. Trouble is logged here, once; the lease runs out and
/// the object is tried again. `true`: it was trouble that passes by itself.
pub async fn step<C: Clock, E: Engine>(control: &Control<C, E>, kind: Kind, lease: &Lease) -> bool {
    let began = Instant::now();
    let done = match kind {
        Kind::Instances => instance::step(control, lease).await,
        Kind::Segments => segment::step(control, lease).await.map(|()| "settle"),
        Kind::Accounts => account::step(control, lease).await.map(|()| "guard"),
    };
    match done {
        Ok(state) => {
            control.metrics.step(kind.as_str(), state, began.elapsed());
            false
        }
        Err(error) => {
            control.metrics.failure(kind.as_str());
            tracing::error!(%error, kind = kind.as_str(), id = %lease.id, "step failed; it is tried again");
            error.cause().kind() == base::Kind::Unavailable
        }
    }
}
