//! From a segment to its line in a month.

use base::{Money, Result, Timestamp};

use super::{BillLine, BillSegment, Explain};
use crate::Plan;
use crate::segment::{charge_until, due};

/// The month of a bill and the moment it is made.
#[derive(Clone, Copy)]
pub(super) struct Month {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    pub(super) as_of: Timestamp,
}

/// A segment's line in the month and how much of it is not posted; `None` when
/// the segment lies outside and nothing was posted for it.
pub(super) fn line(segment: &BillSegment, plan: Plan, month: Month) -> Result<Option<(BillLine, Money)>> {
    let outside = segment.from >= month.to || segment.to.is_some_and(|end| end <= month.from && end > segment.from);
    if outside && segment.posted == Money::ZERO {
        return Ok(None);
    }
    let begin = segment.from.max(month.from);
    // What is open has been lived through only as far as it is proven.
    let lived = [segment.to, segment.proven_until].into_iter().flatten().min().unwrap_or(begin);
    let until = lived.min(month.to).max(begin);
    let open = match segment.proven_until {
        Some(_) if !outside => due(segment.from, segment.rate, until, segment.posted_before.plus(segment.posted)?)?,
        _ => Money::ZERO,
    };
    let exact = segment.posted.plus(open)?;
    let line = BillLine {
        item: segment.item,
        from: begin,
        to: segment.to.map(|end| end.min(month.to)),
        billed: until.since(begin),
        rate: segment.rate,
        serials: segment.serials.clone(),
        plan,
        amount: exact.rounded_to_cents(),
        exact,
        so_far: open.is_positive() || (segment.to.is_none() && month.as_of < month.to),
        explain: Explain {
            segment: segment.id.clone(),
            price_version: segment.price_version.clone(),
            arithmetic: arithmetic(segment, until, exact)?,
            evidence: segment.evidence.clone(),
            ended: segment.ended.clone(),
        },
    };
    Ok(Some((line, open)))
}

/// How the amount comes from rate and time; where the ledger has another amount,
/// both are shown instead of one that hides the other.
fn arithmetic(segment: &BillSegment, until: Timestamp, exact: Money) -> Result<String> {
    let elapsed = until.since(segment.from).millis();
    let cost = charge_until(segment.from, segment.rate, until)?;
    let mut text = format!("{} × {elapsed} ms ÷ 3600000, rounded down = {cost}", segment.rate);
    let here = cost.minus(segment.posted_before)?;
    if segment.posted_before != Money::ZERO {
        text.push_str(&format!(", less {} of earlier months = {here}", segment.posted_before));
    }
    if here != exact {
        text.push_str(&format!("; the ledger has {exact} for this month"));
    }
    Ok(text)
}
