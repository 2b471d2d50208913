//! What a node proves becomes what may be billed.
//!
//! Steady state costs one watermark per node and nothing per instance. Only a
//! hole in the proofs, or an instance that ended by itself, touches segments.

use base::{Cause, NodeId, Result, SegmentId, Timestamp};
use domain::instance::State;
use engine::{CommandExit, Ended, Engine, NodeReport};
use futures_util::FutureExt;
use serde_json::json;
use store::instances::{self, Reason};
use store::segments::{self, Gap, Segment};
use store::{Outcome, Tx, accounts, events, nodes};

use crate::segment::LATE;
use crate::{Clock, Control};

/// Writes a report down, in one transaction.
///
/// # Errors
/// The database's; the same report can be applied again.
pub async fn apply<C: Clock, E: Engine>(control: &Control<C, E>, node: &NodeId, report: &NodeReport) -> Result<()> {
    let (node, report, now) = (node.clone(), report.clone(), control.clock.now());
    engine::fault::point("node.evidence.before");
    control
        .store
        .write(move |tx| {
            let (node, report) = (node.clone(), report.clone());
            async move { write(tx, &node, &report, now).await }.boxed()
        })
        .await?;
    engine::fault::point("node.evidence.after");
    Ok(())
}

async fn write(tx: &mut Tx<'_>, id: &NodeId, report: &NodeReport, now: Timestamp) -> Outcome<()> {
    let Some(node) = nodes::get(tx, id).await? else {
        return Ok(());
    };
    for exit in &report.command_exits {
        command_ended(tx, exit, now).await?;
    }
    for ended in &report.ended {
        instance_ended(tx, ended, now).await?;
    }
    let mut proven = node.proven_until;
    // By the agent's own clock: evidence is late when it was kept for too long.
    let oldest = report.now.before(LATE);
    for proof in &report.proofs {
        if proof.to <= proven || proof.to <= oldest {
            continue;
        }
        let from = proof.from.max(oldest);
        if from > proven && proven > Timestamp::EPOCH {
            let why = if proof.from < from {
                "its proof came more than 24 hours late"
            } else {
                "nobody saw the machine in this time"
            };
            gap(tx, id, &Gap { from: proven, to: from, why: why.into() }, report, now).await?;
        }
        proven = proof.to;
    }
    nodes::proven(tx, id, proven, &report.boot_id, now).await
}

/// A hole: everything open or unsettled on the node loses that stretch, and goes
/// on at its end if the instance is still there.
async fn gap(tx: &mut Tx<'_>, node: &NodeId, gap: &Gap, report: &NodeReport, now: Timestamp) -> Outcome<()> {
    let (from, to) = (gap.from, gap.to);
    segments::record_gap(tx, node, gap).await?;
    for segment in segments::unsettled_on(tx, node).await? {
        // What began or ended outside the hole keeps its edge.
        if segment.from >= to || segment.to.is_some_and(|end| end <= from) {
            continue;
        }
        if !segments::shorten(tx, &segment.id, from, "node-lost", now).await? {
            continue;
        }
        let goes_on = report
            .alive
            .iter()
            .any(|a| a.running && a.instance.id == segment.instance && a.instance.generation == segment.generation);
        let ended_later = segment.to.is_some_and(|end| end > to);
        if ended_later || (segment.to.is_none() && goes_on) {
            let rest = Segment {
                id: SegmentId::new(to, tx.random()),
                from: to,
                evidence: format!("running again after the machine was out of sight since {from}"),
                due_at: segment.to.map(|_| now),
                ..segment.clone()
            };
            segments::insert(tx, &rest).await?;
        }
        accounts::nudge(tx, &segment.account, now).await?;
        let data = json!({ "from": from, "to": to });
        let message = "its machine was out of sight: this time is not billed";
        events::record(tx, now, Some(&segment.account), segment.instance.as_str(), "time-lost", message, &data).await?;
    }
    Ok(())
}

async fn instance_ended(tx: &mut Tx<'_>, ended: &Ended, now: Timestamp) -> Outcome<()> {
    let Some(instance) = instances::get(tx, &ended.id).await? else {
        return Ok(());
    };
    // Also of a run that is over: its last segment may still wait for this.
    for segment in segments::of_instance(tx, &ended.id).await? {
        let of_this_run = segment.generation == ended.generation;
        if of_this_run && (segment.to.is_none() || segment.due_at.is_some()) {
            segments::shorten(tx, &segment.id, ended.at, ended.cause.code(), now).await?;
        }
    }
    let reason = Reason {
        rest: State::Lost,
        cause: ended.cause,
        message: match ended.cause {
            Cause::NodeLost => format!("its machine went down; billing ended at {}", ended.at),
            _ => format!("its first process ended ({}); billing ended at {}", ended.detail, ended.at),
        },
        hint: Some("its data are kept; `suanli start` starts it again".into()),
    };
    if instances::lose(tx, &ended.id, ended.generation, &reason, now).await? {
        accounts::nudge(tx, &instance.account, now).await?;
        let data = json!({ "cause": ended.cause, "at": ended.at });
        events::record(tx, now, Some(&instance.account), ended.id.as_str(), "lost", &reason.message, &data).await?;
    }
    Ok(())
}

async fn command_ended(tx: &mut Tx<'_>, exit: &CommandExit, now: Timestamp) -> Outcome<()> {
    if let Some(account) = instances::command_ended(tx, &exit.id, exit.generation, exit.code).await? {
        let message = format!("the start command ended with exit status {}", exit.code);
        let data = json!({ "exit": exit.code, "at": exit.at });
        events::record(tx, now, Some(&account), exit.id.as_str(), "command-ended", &message, &data).await?;
    }
    Ok(())
}
