//! The end of recovery: what the machines have is adopted, in one transaction.
//!
//! In doubt the renter is not charged and nothing is removed: time that the restored
//! books cannot prove ends at the backup's evidence, and data stay where they are.

use std::collections::BTreeSet;

use base::{Cause, Error, NodeId, SegmentId, Timestamp};
use domain::instance::{Desired, State};
use serde_json::json;

use super::report::{Books, Difference, Pair, pairs, report};
use super::{KEY, LATE, SEEN, Seen, current, seen};
use crate::instances::Reason;
use crate::row::to_json;
use crate::segments::{self, Segment};
use crate::{Outcome, Tx, accounts, allocations, events, incidents, instances, site};

/// What acceptance did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Newer generations adopted.
    pub adopted: i64,
    /// Instances that the books had running and no machine has.
    pub lost: i64,
    /// Instances without a row; an incident each.
    pub unknown: i64,
    /// Machines that were not heard; what they have is settled when they come back.
    pub silent: i64,
}

/// Ends recovery if `digest` is that of the report as it is now.
///
/// # Errors
/// `wrong-state` when the site is not in recovery, or the report has changed.
pub async fn accept(tx: &mut Tx<'_>, digest: &str, now: Timestamp) -> Outcome<Accepted> {
    let (Some(recovery), Some(report)) = (current(tx).await?, report(tx).await?) else {
        return Err(Error::new(Cause::WrongState, "the site is not in recovery").into());
    };
    if report.digest != digest {
        return Err(Error::new(Cause::WrongState, "what the machines have is not what was seen any more")
            .hint("look at it again with `suanli recovery show`, then accept that")
            .into());
    }
    // The row is the permission: a second acceptance at this moment finds nothing.
    if !site::remove(tx, KEY).await? {
        return Err(Error::new(Cause::WrongState, "the site is not in recovery").into());
    }
    let mut done = Accepted::default();
    let heard = seen(tx).await?;
    for node in report.nodes {
        let proven = recovery.proven.get(node.node.as_str()).copied().unwrap_or(Timestamp::EPOCH);
        match heard.get(&node.node) {
            Some(seen) => {
                settle(tx, &node.node, proven, seen, now, &mut done).await?;
                site::remove(tx, &format!("{SEEN}{}", node.node)).await?;
            }
            None => {
                site::set(tx, &format!("{LATE}{}", node.node), &proven.micros().to_string()).await?;
                done.silent += 1;
            }
        }
    }
    let data = json!({ "adopted": done.adopted, "lost": done.lost, "unknown": done.unknown, "silent": done.silent });
    let message = "the restored site was accepted: work goes on";
    events::record(tx, now, None, "site", "recovery-accepted", message, &data).await?;
    Ok(done)
}

/// Settles what a node has that was silent when recovery ended. Repeating it
/// changes nothing.
pub async fn settle_late(tx: &mut Tx<'_>, node: &NodeId, seen: &[Seen], now: Timestamp) -> Outcome<()> {
    let key = format!("{LATE}{node}");
    let Some(text) = site::get(tx, &key).await? else {
        return Ok(());
    };
    if !site::remove(tx, &key).await? {
        return Ok(());
    }
    let proven = Timestamp::from_micros(text.parse().unwrap_or(0));
    settle(tx, node, proven, seen, now, &mut Accepted::default()).await
}

async fn settle(
    tx: &mut Tx<'_>,
    node: &NodeId,
    proven: Timestamp,
    seen: &[Seen],
    now: Timestamp,
    done: &mut Accepted,
) -> Outcome<()> {
    for pair in pairs(tx, node, Some(seen)).await? {
        match pair {
            Pair { difference: Difference::Unknown, seen: Some(seen), .. } => {
                let action = "find out whose it is before removing anything; it was made after the backup";
                let detail = "the machine has an instance that the books do not know";
                incidents::open(tx, now, "unknown-instance", seen.id.as_str(), action, detail).await?;
                done.unknown += 1;
            }
            Pair { difference: Difference::Newer, books: Some(books), seen: Some(seen) } => {
                adopt(tx, node, &books, &seen, proven, now).await?;
                done.adopted += 1;
            }
            Pair { difference: Difference::Missing, books: Some(books), .. } => {
                missing(tx, &books, proven, now, done).await?;
            }
            Pair { difference: Difference::Same, books: Some(books), seen: Some(seen) } => {
                was_ready(tx, &books, &seen).await?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// What was ready once has data: no later step may take it for one that never ran.
async fn was_ready(tx: &mut Tx<'_>, books: &Books, seen: &Seen) -> Outcome<()> {
    if let Some(ready) = seen.ready_at {
        sqlx::query("UPDATE instances SET ready_at = $2 WHERE id = $1 AND ready_at IS NULL")
            .bind(books.id.as_str())
            .bind(ready.micros())
            .execute(&mut **tx)
            .await?;
    }
    Ok(())
}

/// The row learns of the generation that is there, so that orders reach it.
async fn adopt(
    tx: &mut Tx<'_>,
    node: &NodeId,
    books: &Books,
    seen: &Seen,
    proven: Timestamp,
    now: Timestamp,
) -> Outcome<()> {
    sqlx::query(
        "UPDATE instances SET generation = $2, node_id = $3, ready_at = COALESCE($4, ready_at, $5), wishes = wishes + 1,
            due_at = CASE WHEN state IN ('stopped', 'lost', 'failed') THEN due_at ELSE $5 END,
            lease_token = NULL, lease_until = 0
         WHERE id = $1 AND generation <= $2",
    )
    .bind(books.id.as_str())
    .bind(seen.generation)
    .bind(node.as_str())
    .bind(seen.ready_at.map(Timestamp::micros))
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    // A hole in the evidence may have closed it before.
    let before = match segments::close(tx, &books.id, proven, "in-recovery", now).await? {
        Some(open) => Some(open),
        None => segments::of_instance(tx, &books.id).await?.pop(),
    };
    accounts::nudge(tx, &books.account, now).await?;
    let goes_on = match before {
        Some(before) if books.state == State::Running && books.desired == Desired::Running && seen.running => {
            same_cards(tx, books, seen).await? && go_on(tx, seen, &before, now).await?
        }
        _ => false,
    };
    if !goes_on && !books.state.is_at_rest() && books.desired == Desired::Running {
        let reason = Reason {
            rest: State::Stopped,
            cause: Cause::InRecovery,
            message: "stopped because the site's books were restored and do not know this run; its data are kept"
                .into(),
            hint: Some("`suanli start` starts it again".into()),
        };
        stop(tx, books, &reason, now).await?;
    }
    let message = format!("generation {} was adopted from its machine after a restore", seen.generation);
    let data = json!({ "before": books.generation, "generation": seen.generation, "goes_on": goes_on });
    events::record(tx, now, Some(&books.account), books.id.as_str(), "recovered", &message, &data).await
}

async fn same_cards(tx: &mut Tx<'_>, books: &Books, seen: &Seen) -> Outcome<bool> {
    let held: BTreeSet<String> = allocations::held_by(tx, &books.id).await?.into_iter().map(|d| d.uuid).collect();
    Ok(!held.is_empty() && held == seen.devices.iter().cloned().collect())
}

/// The run that is there is billed from now on, at the rate that the books know:
/// what it was promised since the backup is in no book.
async fn go_on(tx: &mut Tx<'_>, seen: &Seen, before: &Segment, now: Timestamp) -> Outcome<bool> {
    sqlx::query("UPDATE allocations SET generation = $2 WHERE instance_id = $1 AND released_at IS NULL")
        .bind(seen.id.as_str())
        .bind(seen.generation)
        .execute(&mut **tx)
        .await?;
    let next = Segment {
        id: SegmentId::new(now, tx.random()),
        generation: seen.generation,
        from: now.max(before.to.unwrap_or(now)),
        to: None,
        posted: base::Money::ZERO,
        evidence: format!("running as generation {} when the restored books were accepted", seen.generation),
        closed_by: None,
        due_at: None,
        ..before.clone()
    };
    segments::insert(tx, &next).await
}

/// A run that no machine has any more ends where the backup's evidence ended.
async fn missing(
    tx: &mut Tx<'_>,
    books: &Books,
    proven: Timestamp,
    now: Timestamp,
    done: &mut Accepted,
) -> Outcome<()> {
    if books.state.is_at_rest() {
        let action = "see whether its data were released after the backup was made, or its disk is lost";
        let detail = "the books say that its data are kept, but its machine has nothing of it";
        incidents::open(tx, now, "data-missing", books.id.as_str(), action, detail).await?;
        return Ok(());
    }
    if books.state != State::Running {
        // Every order of the other states may be repeated, also where nothing is there.
        return Ok(());
    }
    segments::close(tx, &books.id, proven, "in-recovery", now).await?;
    let reason = Reason {
        rest: State::Lost,
        cause: Cause::InRecovery,
        message: format!("it was not on its machine when the site was restored; billing ended at {proven}"),
        hint: Some("`suanli start` starts it again if its data are there".into()),
    };
    stop(tx, books, &reason, now).await?;
    accounts::nudge(tx, &books.account, now).await?;
    done.lost += 1;
    let data = json!({ "cause": Cause::InRecovery });
    events::record(tx, now, Some(&books.account), books.id.as_str(), "lost", &reason.message, &data).await
}

/// Makes its controller stop it, unless somebody wanted that before.
async fn stop(tx: &mut Tx<'_>, books: &Books, reason: &Reason, now: Timestamp) -> Outcome<()> {
    sqlx::query(
        "UPDATE instances SET desired = 'stopped', reason = $2, wishes = wishes + 1, due_at = $3
         WHERE id = $1 AND desired = 'running'",
    )
    .bind(books.id.as_str())
    .bind(to_json(reason)?)
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    instances::nudge(tx, &books.id, now).await
}
