//! The store and a node compared, whenever the set of instances there changes.
//!
//! Nothing is removed that the store does not know: it is reported.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Cause, NodeId, Result, Span, Timestamp};
use domain::instance::State;
use engine::{Alive, Ended, Engine, NodeReport};
use futures_util::FutureExt;
use store::{incidents, instances};

use super::{evidence, recovery};
use crate::{Clock, Control};

/// `before` is how far evidence reached before this report. `false`: the site is in
/// recovery, so it was only looked at and is to be compared again.
pub(super) async fn compare<C: Clock, E: Engine>(
    control: &Control<C, E>,
    engine: &Arc<E>,
    node: &NodeId,
    report: &NodeReport,
    before: Timestamp,
) -> Result<bool> {
    let recovering = recovery::look(control, node, report).await?;
    let there: BTreeMap<_, _> = report.alive.iter().map(|a| (a.instance.id.clone(), a)).collect();
    for alive in there.values() {
        leftover(control, engine, alive, recovering).await?;
    }
    if recovering {
        return Ok(false);
    }
    let running = {
        let mut db = control.store.read().await?;
        instances::running_on(&mut db, node).await?
    };
    // Older than the report, so that one that has just become ready is not taken for missing.
    let old = |i: &instances::Instance| i.ready_at.is_some_and(|at| at < report.now.before(Span::from_secs(5)));
    let missing: Vec<_> = running
        .iter()
        .filter(|i| old(i))
        .filter(|i| there.get(&i.id).is_none_or(|a| !a.running || a.instance.generation != i.generation))
        .map(|i| Ended {
            id: i.id.clone(),
            generation: i.generation,
            at: report.proofs.first().map_or(before, |p| p.from.max(before)),
            cause: Cause::InitDied,
            detail: "it is not on its machine any more".into(),
        })
        .collect();
    if missing.is_empty() {
        return Ok(true);
    }
    let known: Vec<_> = report.ended.iter().map(|e| e.id.clone()).collect();
    let ended = missing.into_iter().filter(|m| !known.contains(&m.id)).collect();
    let found = NodeReport { ended, proofs: vec![], command_exits: vec![], samples: vec![], ..report.clone() };
    evidence::apply(control, node, &found).await?;
    Ok(true)
}

/// Something that runs although the store has it at rest is stopped (its owner
/// was told that it rests); something unknown is only reported.
async fn leftover<C: Clock, E: Engine>(
    control: &Control<C, E>,
    engine: &Arc<E>,
    alive: &Alive,
    recovering: bool,
) -> Result<()> {
    let found = {
        let mut db = control.store.read().await?;
        instances::get(&mut db, &alive.instance.id).await?
    };
    match found {
        Some(_) if recovering => Ok(()),
        Some(i) if alive.running && i.state.is_at_rest() && i.generation >= alive.instance.generation => {
            tracing::warn!(id = %i.id, state = %i.state, "it runs although it is at rest: stopping it");
            match i.state {
                State::Released => engine.delete(&alive.instance).await,
                _ => engine.stop(&alive.instance, Span::from_secs(5)).await.map(|_| ()),
            }
        }
        Some(_) => Ok(()),
        None => report_stranger(control, alive).await,
    }
}

async fn report_stranger<C: Clock, E: Engine>(control: &Control<C, E>, alive: &Alive) -> Result<()> {
    let (id, now) = (alive.instance.id.clone(), control.clock.now());
    control
        .store
        .write(move |tx| {
            let id = id.clone();
            async move {
                let action = "find out where it comes from (another server, older books?) before removing anything";
                let detail = "the machine has an instance that the books do not know";
                incidents::open(tx, now, "unknown-instance", id.as_str(), action, detail).await
            }
            .boxed()
        })
        .await
        .map(|_| ())
}
