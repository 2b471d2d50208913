//! Stop rules: what ends an instance without anybody's hand.
//!
//! Each rule has one instant at which it fires, computed from facts. So a
//! controller sleeps until [`Rules::next_check`] instead of polling, and
//! [`Rules::verdict`] at that instant gives the same answer however often it is
//! asked.

mod clock_time;

use base::{Cause, Error, Money, Rate, Result, Span, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use clock_time::stop_at;

/// A card busier than this, percent, is in use.
pub const IDLE_GPU_PCT: i64 = 5;
/// Idle time after which an instance stops unless its rules say otherwise.
pub const DEFAULT_IDLE: Span = Span::from_hours(2);
/// Shortest idle time: less would stop between two batches.
pub const MIN_IDLE: Span = Span::from_secs(5);

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", tag = "rule")]
pub enum StopRule {
    /// Nothing went on for this long.
    Idle {
        /// How long, microseconds.
        after: Span,
    },
    /// It ran this long since it was ready.
    After {
        /// How long, microseconds.
        span: Span,
    },
    /// At this instant.
    At {
        /// When.
        instant: Timestamp,
    },
    /// It cost this much.
    Budget {
        /// Most that all runs of the instance together may cost.
        limit: Money,
    },
}

/// The rules of one instance; `None` switches a rule off.
///
/// In JSON a missing `idle` means the default of two hours and `null` means off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Stop after this long without activity, microseconds.
    pub idle: Option<Span>,
    /// Stop this long after ready, microseconds.
    pub after: Option<Span>,
    /// Stop at this instant.
    pub at: Option<Timestamp>,
    /// Stop when the instance has cost this much.
    pub budget: Option<Money>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { idle: Some(DEFAULT_IDLE), after: None, at: None, budget: None }
    }
}

/// What rules look at: facts about one run of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFacts {
    /// When this run was proven ready.
    pub ready_at: Timestamp,
    /// Last moment with activity.
    pub last_active_at: Timestamp,
    /// Frozen rate of the open segment.
    pub rate: Rate,
    /// Cost of the instance before the open segment.
    pub spent_before: Money,
    /// Start of the open segment; `None` while the meter stands still.
    pub segment_from: Option<Timestamp>,
    /// Until then no rule fires but the budget: its owner has asked for more time, not
    /// for more money.
    pub snoozed_until: Option<Timestamp>,
}

/// What is to happen now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing; look again at `next` (never, if `None`).
    Continue {
        /// The earliest instant at which a rule can fire.
        next: Option<Timestamp>,
    },
    /// Stop it.
    Stop {
        /// `idle`, `timer` or `budget-spent`.
        cause: Cause,
        /// A sentence for the renter.
        why: String,
    },
}

impl Rules {
    /// No rule at all.
    pub const OFF: Self = Self { idle: None, after: None, at: None, budget: None };

    /// The rules that are on.
    pub fn list(&self) -> Vec<StopRule> {
        let idle = self.idle.map(|after| StopRule::Idle { after });
        let after = self.after.map(|span| StopRule::After { span });
        let at = self.at.map(|instant| StopRule::At { instant });
        let budget = self.budget.map(|limit| StopRule::Budget { limit });
        [idle, after, at, budget].into_iter().flatten().collect()
    }

    /// The same rules, if they make sense for an instance that starts at `now`.
    ///
    /// # Errors
    /// `invalid-request` for an idle or running time that is too short or an
    /// instant that has passed, `invalid-amount` for a budget of nothing.
    pub fn checked(self, now: Timestamp) -> Result<Self> {
        let bad = |message: String, hint: &str| Err(Error::new(Cause::InvalidRequest, message).hint(hint));
        if let Some(idle) = self.idle.filter(|i| *i < MIN_IDLE) {
            return bad(format!("{idle} is too short for an idle rule"), &format!("use {MIN_IDLE} or more, or `off`"));
        }
        if let Some(after) = self.after.filter(|a| *a <= Span::ZERO) {
            return bad(format!("{after} is no running time"), "use for example 8h");
        }
        if let Some(at) = self.at.filter(|at| *at <= now) {
            return bad(format!("{} has passed", people(at)), "choose a later time");
        }
        if let Some(budget) = self.budget.filter(|b| !b.is_positive()) {
            return Err(Error::new(Cause::InvalidAmount, format!("{budget} is no budget")).hint("use for example 50"));
        }
        Ok(self)
    }

    /// The rules for a start at `now`: an instant that passed before belongs to
    /// an earlier run and would stop this one at once.
    #[must_use]
    pub fn without_past(self, now: Timestamp) -> Self {
        Self { at: self.at.filter(|at| *at > now), ..self }
    }

    /// The earliest instant at which any rule can fire, if nothing changes until
    /// then. Activity or a change of rate moves it: ask again.
    pub fn next_check(&self, facts: &RunFacts) -> Option<Timestamp> {
        self.list().into_iter().filter_map(|rule| rule.fires_at(facts)).min()
    }

    /// Whether the instance has to stop at `now`, and why. When several rules
    /// have fired, the one that fired first is the cause.
    pub fn verdict(&self, now: Timestamp, facts: &RunFacts) -> Verdict {
        let first =
            self.list().into_iter().filter_map(|rule| Some((rule.fires_at(facts)?, rule))).min_by_key(|(at, _)| *at);
        match first {
            Some((at, rule)) if at <= now => Verdict::Stop { cause: rule.cause(), why: rule.why(facts) },
            other => Verdict::Continue { next: other.map(|(at, _)| at) },
        }
    }
}

impl StopRule {
    /// The cause that a stop by this rule has.
    pub const fn cause(&self) -> Cause {
        match self {
            Self::Idle { .. } => Cause::Idle,
            Self::After { .. } | Self::At { .. } => Cause::Timer,
            Self::Budget { .. } => Cause::BudgetSpent,
        }
    }

    fn fires_at(&self, facts: &RunFacts) -> Option<Timestamp> {
        let snoozed = |at: Timestamp| facts.snoozed_until.map_or(at, |until| until.max(at));
        match *self {
            Self::Idle { after } => Some(snoozed(quiet_since(facts).after(after))),
            Self::After { span } => Some(snoozed(facts.ready_at.after(span))),
            Self::At { instant } => Some(snoozed(instant)),
            Self::Budget { limit } => {
                // Out of range can only mean that far more than the limit is spent.
                let left = limit.minus(facts.spent_before).unwrap_or(Money::ZERO);
                if !left.is_positive() {
                    return Some(facts.ready_at);
                }
                facts.rate.lasts_ms(left).zip(facts.segment_from).map(|(ms, from)| from.after(Span::from_millis(ms)))
            }
        }
    }

    fn why(&self, facts: &RunFacts) -> String {
        match *self {
            Self::Idle { after } => format!(
                "no activity for {after} (since {}): the card was below {IDLE_GPU_PCT} % and nobody was connected",
                people(quiet_since(facts))
            ),
            Self::After { span } => format!("it ran for {span}, as its timer says (since {})", people(facts.ready_at)),
            Self::At { instant } => format!("its timer was set to {}", people(instant)),
            Self::Budget { limit } => format!("its budget of {limit} is used up"),
        }
    }
}

fn quiet_since(facts: &RunFacts) -> Timestamp {
    facts.last_active_at.max(facts.ready_at)
}

/// An instant in UTC as people read it, to the second.
fn people(at: Timestamp) -> String {
    at.in_zone("UTC").map_or_else(|_| at.to_string(), |text| text + "Z")
}

/// Reads an idle rule: a length of time, or `off`.
///
/// # Errors
/// `invalid-request` when it is neither.
pub fn parse_idle(text: &str) -> Result<Option<Span>> {
    match text {
        "off" => Ok(None),
        text => text.parse().map(Some).map_err(|e: Error| e.hint("write it like 30m or 2h, or `off`")),
    }
}

#[cfg(test)]
mod tests;
