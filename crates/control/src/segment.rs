//! Settling closed segments: what evidence has proven is posted, once.

use base::{Error, Money, Result, Span, Timestamp};
use billing::ledger::{Book, Posting, PostingKind};
use billing::segment::due;
use engine::Engine;
use futures_util::FutureExt;
use store::lease::Lease;
use store::segments::{self, Segment};
use store::settlement::{self, Settled};
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

/// Posts what is proven of the segments that have been due longest, all in one
/// transaction. Returns how many it looked at; 0 when none is due and free.
///
/// # Errors
/// The database's, or a segment that cannot be settled: then none of them is, and
/// [`step`] can do the others one by one.
pub async fn settle_due<C: Clock, E: Engine>(control: &Control<C, E>) -> Result<usize> {
    let now = control.clock.now();
    engine::fault::point("segment.settle.before");
    let settled = control.store.write(move |tx| settle_many(tx, now).boxed()).await?;
    engine::fault::point("segment.settle.after");
    Ok(settled)
}

async fn settle_many(tx: &mut Tx<'_>, now: Timestamp) -> Outcome<usize> {
    let waiting = settlement::waiting(tx, now).await?;
    let (mut charges, mut settled) = (Vec::with_capacity(waiting.len()), Vec::with_capacity(waiting.len()));
    for w in &waiting {
        let verdict = judge(&w.segment, w.proven_until, now)?;
        if let Some(end) = verdict.given_up {
            give_up(tx, &w.segment, end, now).await?;
        }
        if verdict.amount.is_positive() {
            charges.push((w.segment.account.clone(), posting(&w.segment, &verdict, now)));
        }
        let Verdict { posted, until, due_at, .. } = verdict;
        settled.push(Settled { id: w.segment.id.clone(), posted, until, due_at });
    }
    settlement::write(tx, &charges, &settled, now).await?;
    Ok(waiting.len())
}

async fn settle(tx: &mut Tx<'_>, lease: Lease, now: Timestamp) -> Outcome<bool> {
    let Some(segment) = segments::lock(tx, &lease).await? else {
        return Ok(false);
    };
    let Some(node) = nodes::get(tx, &segment.node).await? else {
        return Err(Error::internal(format!("{} is on no node", segment.id)).into());
    };
    let verdict = judge(&segment, node.proven_until, now)?;
    if verdict.amount.is_positive() {
        post(tx, &segment, &verdict, now).await?;
    }
    if let Some(end) = verdict.given_up {
        give_up(tx, &segment, end, now).await?;
    }
    segments::settled(tx, &lease, verdict.posted, verdict.until, verdict.due_at).await
}

/// What becomes of a segment that is due.
struct Verdict {
    /// What has to be posted now; may be nothing.
    amount: Money,
    /// What is posted then, and up to when.
    posted: Money,
    until: Timestamp,
    /// When to look again; `None`: it is settled.
    due_at: Option<Timestamp>,
    /// Where it ends instead, when evidence did not come in time.
    given_up: Option<Timestamp>,
}

fn judge(segment: &Segment, proven_until: Timestamp, now: Timestamp) -> Result<Verdict> {
    let Some(to) = segment.to else {
        // It was opened for settlement by mistake: an open segment has nothing to settle.
        let (posted, until) = (segment.posted, segment.from);
        return Ok(Verdict { amount: Money::ZERO, posted, until, due_at: None, given_up: None });
    };
    let too_late = now.since(to) > LATE && proven_until < to;
    let end = if too_late { proven_until.max(segment.from) } else { to };
    let until = end.min(proven_until).max(segment.from);
    let amount = due(segment.from, segment.rate, until, segment.posted)?;
    let posted = if amount.is_positive() { segment.posted.plus(amount)? } else { segment.posted };
    let due_at = (until < end).then(|| now.after(AGAIN));
    Ok(Verdict { amount, posted, until, due_at, given_up: too_late.then_some(end) })
}

async fn give_up(tx: &mut Tx<'_>, segment: &Segment, end: Timestamp, now: Timestamp) -> Outcome<()> {
    segments::shorten(tx, &segment.id, end, "never-proven", now).await?;
    let action = "find out why the machine never came back; its renter was not charged for this time";
    let to = segment.to.unwrap_or(end);
    let detail = format!("no evidence for the time from {end} to {to}");
    incidents::open(tx, now, "evidence-never-came", segment.id.as_str(), action, &detail).await?;
    Ok(())
}

fn posting(s: &Segment, verdict: &Verdict, now: Timestamp) -> Posting {
    Posting {
        debit: Book::Balance(s.account.clone()),
        credit: Book::Revenue(s.kind.clone()),
        amount: verdict.amount,
        kind: PostingKind::Charge,
        cause: format!("charge:{}:{}", s.id, verdict.until.micros()),
        at: now,
        segment: Some(s.id.clone()),
        price_version: Some(s.price_version.clone()),
    }
}

async fn post(tx: &mut Tx<'_>, s: &Segment, verdict: &Verdict, now: Timestamp) -> Outcome<()> {
    let posting = posting(s, verdict, now);
    if postings::post(tx, &posting, &s.account, None).await?.is_none() {
        return Err(
            Error::internal(format!("{} was posted before, but the segment does not know", posting.cause)).into()
        );
    }
    accounts::nudge(tx, &s.account, now).await
}
