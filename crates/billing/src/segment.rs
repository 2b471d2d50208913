//! Segments: stretches of time at one frozen rate, and what they owe.

use base::{Money, Rate, Result, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `[from, to)` at one rate; without `to` it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Segment {
    /// First billable moment.
    pub from: Timestamp,
    /// First moment that is no longer billed.
    pub to: Option<Timestamp>,
    /// Price of an hour, frozen.
    pub rate: Rate,
}

impl Segment {
    /// What the segment cost up to `until`, or up to its end where that is earlier.
    ///
    /// # Errors
    /// `invalid-amount` when it is too large to count.
    pub fn charge(&self, until: Timestamp) -> Result<Money> {
        charge_until(self.from, self.rate, self.to.map_or(until, |to| to.min(until)))
    }
}

/// `floor(rate × elapsed_ms / 3 600 000)` from the segment's own start; nothing
/// before it.
///
/// # Errors
/// `invalid-amount` when it is too large to count.
pub fn charge_until(from: Timestamp, rate: Rate, until: Timestamp) -> Result<Money> {
    rate.charge(until.since(from).millis())
}

/// What is still to be posted for a segment when `posted` already is. `until`
/// must not be later than the node's `proven_until`. An `until` that lies behind
/// what was posted (a retry with old facts) owes nothing more, never less.
///
/// # Errors
/// `invalid-amount` when it is too large to count.
pub fn due(from: Timestamp, rate: Rate, until: Timestamp, posted: Money) -> Result<Money> {
    Ok(charge_until(from, rate, until)?.minus(posted)?.max(Money::ZERO))
}

/// The parts of `[from, to)` outside every lost interval, in order. Lost
/// intervals may overlap, touch, come in any order and reach beyond the ends.
pub fn billable(from: Timestamp, to: Timestamp, lost: &[(Timestamp, Timestamp)]) -> Vec<(Timestamp, Timestamp)> {
    let mut lost: Vec<_> = lost.iter().copied().filter(|(a, b)| a < b).collect();
    lost.sort_unstable();
    let (mut parts, mut start) = (Vec::new(), from);
    for (gone, back) in lost {
        if gone >= to {
            break;
        }
        if gone > start {
            parts.push((start, gone));
        }
        start = start.max(back);
    }
    if start < to {
        parts.push((start, to));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Span;
    use proptest::prelude::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::EPOCH.after(Span::from_secs(secs))
    }

    #[test]
    fn lost_time_is_cut_out() {
        assert_eq!(billable(at(0), at(10), &[]), [(at(0), at(10))]);
        assert_eq!(
            billable(at(0), at(10), &[(at(4), at(6)), (at(2), at(3))]),
            [(at(0), at(2)), (at(3), at(4)), (at(6), at(10))]
        );
        assert_eq!(billable(at(0), at(10), &[(at(-5), at(1)), (at(0), at(2)), (at(9), at(20))]), [(at(2), at(9))]);
        assert_eq!(billable(at(0), at(10), &[(at(0), at(10))]), []);
        assert_eq!(billable(at(10), at(0), &[]), []);
        assert_eq!(billable(at(0), at(10), &[(at(6), at(4))]), [(at(0), at(10))], "a reversed interval is none");
    }

    #[test]
    fn an_old_until_owes_nothing_and_takes_nothing_back() {
        let rate = Rate::from_micros_per_hour(3_600_000);
        assert_eq!(due(at(0), rate, at(10), Money::from_micros(5_000)).unwrap(), Money::from_micros(5_000));
        assert_eq!(due(at(0), rate, at(3), Money::from_micros(5_000)).unwrap(), Money::ZERO);
        assert_eq!(due(at(5), rate, at(3), Money::ZERO).unwrap(), Money::ZERO);
    }

    #[test]
    fn a_closed_segment_stops_charging() {
        let s = Segment { from: at(0), to: Some(at(10)), rate: Rate::from_micros_per_hour(3_600_000) };
        assert_eq!(s.charge(at(5)).unwrap(), Money::from_micros(5_000));
        assert_eq!(s.charge(at(50)).unwrap(), Money::from_micros(10_000));
    }

    proptest! {
        /// Any steps, in any order, with repeats: what is posted is one charge.
        #[test]
        fn settlement_in_any_steps_posts_the_same(
            rate in 0..10_000_000_000i64,
            steps in proptest::collection::vec(0..90_000_000_000i64, 1..30),
        ) {
            let (from, rate) = (at(1_000), Rate::from_micros_per_hour(rate));
            let mut posted = Money::ZERO;
            for step in &steps {
                let until = from.after(Span::from_micros(*step));
                posted = posted.plus(due(from, rate, until, posted).unwrap()).unwrap();
            }
            let last = from.after(Span::from_micros(steps.iter().copied().max().unwrap_or(0)));
            prop_assert_eq!(posted, charge_until(from, rate, last).unwrap());
        }

        /// Billable parts and lost time cover the whole, without overlap.
        #[test]
        fn billable_parts_are_ordered_and_free_of_lost_time(
            to in 0..100i64,
            lost in proptest::collection::vec((-10..110i64, -10..110i64), 0..8),
        ) {
            let lost: Vec<_> = lost.into_iter().map(|(a, b)| (at(a), at(b))).collect();
            let parts = billable(at(0), at(to), &lost);
            prop_assert!(parts.iter().all(|(a, b)| a < b));
            prop_assert!(parts.windows(2).all(|w| w[0].1 < w[1].0));
            for second in 0..to {
                let gone = lost.iter().any(|(a, b)| *a <= at(second) && at(second) < *b);
                let billed = parts.iter().any(|(a, b)| *a <= at(second) && at(second) < *b);
                prop_assert_eq!(billed, !gone, "second {}", second);
            }
        }
    }
}
