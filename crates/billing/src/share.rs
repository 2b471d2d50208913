//! Shares of a whole: discounts, surcharges, bonuses.

use std::fmt;
use std::str::FromStr;

use base::{Cause, Error, Money, Rate, Result};
use serde::{Deserialize, Serialize};

/// Millionths of a whole. People and JSON write percent: `60%`, `12.5%`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Share(i64);

/// Millionths in a whole.
const WHOLE: i64 = 1_000_000;
/// Millionths in a percent.
const PERCENT: i64 = 10_000;

impl Share {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// All of it.
    pub const ALL: Self = Self(WHOLE);

    /// So many percent; stays at the end of the range instead of wrapping.
    pub const fn percent(percent: i64) -> Self {
        Self(percent.saturating_mul(PERCENT))
    }

    /// Millionths.
    pub const fn millionths(self) -> i64 {
        self.0
    }

    /// What is left of the whole when this is taken away.
    pub const fn rest(self) -> Self {
        Self(WHOLE.saturating_sub(self.0))
    }

    /// The whole with this added.
    pub const fn on_top(self) -> Self {
        Self(WHOLE.saturating_add(self.0))
    }

    /// This share of a rate, rounded half-up.
    ///
    /// # Errors
    /// `invalid-amount` when it leaves the range.
    pub fn of_rate(self, rate: Rate) -> Result<Rate> {
        rate.scaled(self.0, WHOLE)
    }

    /// This share of an amount, rounded half-up.
    ///
    /// # Errors
    /// `invalid-amount` when it leaves the range.
    pub fn of_money(self, money: Money) -> Result<Money> {
        let scaled = Rate::from_micros_per_hour(money.micros()).scaled(self.0, WHOLE)?;
        Ok(Money::from_micros(scaled.micros_per_hour()))
    }

    /// This share of that share as one fraction, so that a rate which both apply
    /// to is rounded once.
    ///
    /// # Errors
    /// `invalid-amount` when it leaves the range.
    pub fn both_of_rate(self, other: Self, rate: Rate) -> Result<Rate> {
        let numerator = self.0.checked_mul(other.0).ok_or_else(|| {
            Error::new(Cause::InvalidAmount, format!("{self} and {other} together are too large to count"))
        })?;
        rate.scaled(numerator, WHOLE * WHOLE)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, part) = (self.0.unsigned_abs() / 10_000, self.0.unsigned_abs() % 10_000);
        let digits = format!("{part:04}");
        let digits = digits.trim_end_matches('0');
        let dot = if digits.is_empty() { "" } else { "." };
        f.pad(&format!("{sign}{whole}{dot}{digits}%"))
    }
}

impl FromStr for Share {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::new(Cause::InvalidAmount, format!("`{}` is not a share", text.escape_debug()))
                .hint("write percent with at most four decimals, for example 60% or 12.5%")
        };
        // A percentage with four decimals has the same digits as money with six.
        let money: Money = text.strip_suffix('%').ok_or_else(bad)?.trim_end().parse().map_err(|_| bad())?;
        if money.micros() % 100 != 0 {
            return Err(bad());
        }
        Ok(Self(money.micros() / 100))
    }
}

impl TryFrom<String> for Share {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Share> for String {
    fn from(share: Share) -> Self {
        share.to_string()
    }
}

impl utoipa::PartialSchema for Share {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .description(Some("percent, for example 60%"))
            .into()
    }
}
impl utoipa::ToSchema for Share {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percent_is_exact() {
        assert_eq!("60%".parse::<Share>().unwrap(), Share::percent(60));
        assert_eq!("12.5%".parse::<Share>().unwrap().millionths(), 125_000);
        assert_eq!("0.0001%".parse::<Share>().unwrap().millionths(), 1);
        assert_eq!("-5%".parse::<Share>().unwrap().to_string(), "-5%");
        for bad in ["60", "%", "0.00001%", "a%", "1e2%", "", "60%%"] {
            assert_eq!(bad.parse::<Share>().unwrap_err().cause(), Cause::InvalidAmount, "{bad}");
        }
    }

    #[test]
    fn two_shares_round_once() {
        let rate = Rate::from_micros_per_hour(5);
        let third = "33.3333%".parse::<Share>().unwrap();
        // 5 × 0.333333 × 1.3 = 2.1666 → 2; rounding twice would give 2 × 1.3 = 2.6 → 3.
        assert_eq!(third.both_of_rate(Share::percent(130), rate).unwrap(), Rate::from_micros_per_hour(2));
    }

    proptest! {
        #[test]
        fn text_comes_back(m in -900_000_000_000_000_000i64 / 100..900_000_000_000_000_000 / 100) {
            prop_assert_eq!(Share(m).to_string().parse::<Share>().unwrap(), Share(m));
        }
    }
}
