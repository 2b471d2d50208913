//! When an account's money ends, and which warnings come before.

use base::{Money, Rate, Result, Span, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A rung of the ladder before the money ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// A day before: a forecast.
    DayBefore,
    /// Two hours before: a forecast, and no new starts.
    TwoHoursBefore,
    /// The money ends: stop.
    End,
}

impl Step {
    /// Every step, first first.
    pub const ALL: [Self; 3] = [Self::DayBefore, Self::TwoHoursBefore, Self::End];

    /// How long before the end it is due.
    pub const fn lead(self) -> Span {
        match self {
            Self::DayBefore => Span::from_hours(24),
            Self::TwoHoursBefore => Span::from_hours(2),
            Self::End => Span::ZERO,
        }
    }

    /// When it is due if the money ends at `ends`.
    pub const fn due_at(self, ends: Timestamp) -> Timestamp {
        ends.before(self.lead())
    }
}

/// The last instant up to which `balance` (as it is at `at`, everything owed
/// until then taken off) pays for `burn`; `None` when nothing burns. An empty
/// balance ends at `at`.
pub fn money_ends(balance: Money, burn: Rate, at: Timestamp) -> Option<Timestamp> {
    burn.lasts_ms(balance).map(|ms| at.after(Span::from_millis(ms)))
}

/// Steps of the ladder that are due at `now`, first first.
pub fn steps_due(ends: Timestamp, now: Timestamp) -> Vec<Step> {
    Step::ALL.into_iter().filter(|s| s.due_at(ends) <= now).collect()
}

/// The next instant after `now` at which a step becomes due; `None` after the end.
pub fn next_step(ends: Timestamp, now: Timestamp) -> Option<(Step, Timestamp)> {
    Step::ALL.into_iter().map(|s| (s, s.due_at(ends))).find(|(_, at)| *at > now)
}

/// The most by which an account can fall below zero when a stop takes `reaction`
/// after its money ended.
///
/// # Errors
/// `invalid-amount` when it is too large to count.
pub fn overdraft_bound(burn: Rate, reaction: Span) -> Result<Money> {
    // The end is rounded down to a millisecond, the reaction up.
    burn.charge(reaction.millis().saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_burning_never_ends_and_no_money_ends_now() {
        let at = Timestamp::from_micros(5);
        assert_eq!(money_ends(Money::ZERO, Rate::ZERO, at), None);
        assert_eq!(money_ends(Money::ZERO, Rate::from_micros_per_hour(1), at), Some(at));
        assert_eq!(money_ends(Money::from_micros(-9), Rate::from_micros_per_hour(1), at), Some(at));
    }

    #[test]
    fn the_ladder_has_three_steps_in_order() {
        let ends = Timestamp::EPOCH.after(Span::from_hours(100));
        let hour = |h| Timestamp::EPOCH.after(Span::from_hours(h));
        assert_eq!(steps_due(ends, hour(75)), []);
        assert_eq!(steps_due(ends, hour(76)), [Step::DayBefore]);
        assert_eq!(steps_due(ends, hour(98)), [Step::DayBefore, Step::TwoHoursBefore]);
        assert_eq!(steps_due(ends, hour(100)), Step::ALL);
        assert_eq!(next_step(ends, hour(0)), Some((Step::DayBefore, hour(76))));
        assert_eq!(next_step(ends, hour(98)), Some((Step::End, ends)));
        assert_eq!(next_step(ends, hour(100)), None);
    }

    proptest! {
        /// Several instances that burn together never overdraw before the end,
        /// and afterwards by no more than the bound.
        #[test]
        fn the_overdraft_is_bounded(
            rates in proptest::collection::vec(1..100_000_000i64, 1..6),
            balance in 0..1_000_000_000i64,
            reaction in 0..600_000_000i64,
        ) {
            let rates: Vec<_> = rates.into_iter().map(Rate::from_micros_per_hour).collect();
            let burn = rates.iter().try_fold(Rate::ZERO, |sum, r| sum.plus(*r)).unwrap();
            let balance = Money::from_micros(balance);
            let spent = |until: Timestamp| {
                Money::sum(rates.iter().map(|r| crate::segment::charge_until(Timestamp::EPOCH, *r, until).unwrap())).unwrap()
            };
            let ends = money_ends(balance, burn, Timestamp::EPOCH).unwrap();
            prop_assert!(spent(ends) <= balance);
            let reaction = Span::from_micros(reaction);
            let below = spent(ends.after(reaction)).minus(balance).unwrap();
            prop_assert!(below <= overdraft_bound(burn, reaction).unwrap().plus(Money::from_micros(1)).unwrap());
        }
    }
}
