//! How an instance is paid.

use std::fmt;
use std::str::FromStr;

use base::{Cause, Error, Money, Rate, Result, Span};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A way to pay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Plan {
    /// List rate by the second; stop at any time.
    #[default]
    OnDemand,
    /// List rate less a discount; may be taken back after a notice.
    Spot,
    /// A calendar month, prepaid.
    Month,
    /// A calendar year, prepaid.
    Year,
}

impl Plan {
    /// Every plan.
    pub const ALL: [Self; 4] = [Self::OnDemand, Self::Spot, Self::Month, Self::Year];

    /// The word for it in commands and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OnDemand => "on-demand",
            Self::Spot => "spot",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Plan {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|p| p.as_str() == text).ok_or_else(|| {
            Error::new(Cause::InvalidRequest, format!("`{}` is not a plan", text.escape_debug()))
                .hint("use on-demand, spot, month or year")
        })
    }
}

/// A spot run that is taken back earlier than this is free.
pub const SPOT_FREE: Span = Span::from_secs(600);

/// What one spot run costs. Whether an early end is `free` at all (taken back by
/// us, not by a related account, not a second time in 24 hours) is the caller's
/// to know; a stop by the renter is not.
///
/// # Errors
/// `invalid-amount` when it is too large to count.
pub fn spot_run(rate: Rate, ran: Span, free: bool) -> Result<Money> {
    if free && ran < SPOT_FREE {
        return Ok(Money::ZERO);
    }
    rate.charge(ran.millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_and_match_json() {
        for plan in Plan::ALL {
            assert_eq!(plan.to_string().parse::<Plan>().unwrap(), plan);
            assert_eq!(serde_json::to_value(plan).unwrap(), plan.as_str());
        }
        assert_eq!("hourly".parse::<Plan>().unwrap_err().cause(), Cause::InvalidRequest);
    }
}
