//! Settling closed segments: what evidence has proven is posted, once.

use base::{Error, Result, Span, Timestamp};
use billing::ledger::{Book, Posting, PostingKind};
use billing::segment::due;
use engine::Engine;
use futures_util::FutureExt;
use store::lease::Lease;
use store::segments::{self, Segment};
use store::{Outcome, Tx, accounts, incidents, nodes, postings};

use crate::{Clock, Control};

/// How long evidence may come late. What is not proven by then never is.
pub(crate) const LATE: Span = Span::from_hours(24);

/// How long to wait for evidence before looking again without a nudge from it.
const AGAIN: Span = Span::from_secs(30);

/// Posts what is proven of a closed segment and, when all of it is, settles it.
///
/// # Errors
/// The database's; the segment stays due.
pub async fn step<C: Clock, E: Engine>(control: &Control<C, E>, lease: &Lease) -> Result<()> {
    let now = control.clock.now();
    let own = lease.clone();
    engine::fault::point("segment.settle.before");
    let held = control.store.write(move |tx| settle(tx, own.clone(), now).boxed()).await?;
    engine::fault::point("segment.settle.after");
    if !held {
        control.metrics.lost_lease("segments");
    }
    Ok(())
}

async fn settle(tx: &mut Tx<'_>, lease: Lease, now: Timestamp) -> Outcome<bool> {
    let Some(segment) = segments::lock(tx, &lease).await? else {
        return Ok(false);
    };
    let Some(node) = nodes::get(tx, &segment.node).await? else {
        return Err(Error::internal(format!("{} is on no node", segment.id)).into());
    };
    let Some(to) = segment.to else {
        // It was opened for settlement by mistake: an open segment has nothing to settle.
        return segments::settled(tx, &lease, segment.posted, segment.from, None).await;
    };
    let too_late = now.since(to) > LATE && node.proven_until < to;
    let end = if too_late { node.proven_until.max(segment.from) } else { to };
    let proven = end.min(node.proven_until).max(segment.from);
    let amount = due(segment.from, segment.rate, proven, segment.posted)?;
    let mut posted = segment.posted;
    if amount.is_positive() {
        post(tx, &segment, proven, amount, now).await?;
        posted = posted.plus(amount)?;
    }
    if too_late {
        segments::shorten(tx, &segment.id, end, "never-proven", now).await?;
        let action = "find out why the machine never came back; its renter was not charged for this time";
        let detail = format!("no evidence for the time from {end} to {to}");
        incidents::open(tx, now, "evidence-never-came", segment.id.as_str(), action, &detail).await?;
    }
    let done = proven >= end;
    segments::settled(tx, &lease, posted, proven, (!done).then(|| now.after(AGAIN))).await
}

async fn post(tx: &mut Tx<'_>, s: &Segment, proven: Timestamp, amount: base::Money, now: Timestamp) -> Outcome<()> {
    let posting = Posting {
        debit: Book::Balance(s.account.clone()),
        credit: Book::Revenue(s.kind.clone()),
        amount,
        kind: PostingKind::Charge,
        cause: format!("charge:{}:{}", s.id, proven.micros()),
        at: now,
        segment: Some(s.id.clone()),
        price_version: Some(s.price_version.clone()),
    };
    if postings::post(tx, &posting, &s.account, None).await?.is_none() {
        return Err(
            Error::internal(format!("{} was posted before, but the segment does not know", posting.cause)).into()
        );
    }
    accounts::nudge(tx, &s.account, now).await
}
