//! Integer money: micro-units of the account's currency (1 CNY = 1 000 000).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Cause, Error, Result};

const MICROS: i64 = 1_000_000;
const MS_PER_HOUR: i128 = 3_600_000;

/// An amount of money in micro-units. Negative amounts are debts.
///
/// In JSON it is `{"amount": "1.80", "micros": 1800000}`; reading also accepts
/// the decimal string alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(i64);

/// A price in micro-units per hour.
///
/// Same JSON form as [`Money`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(i64);

impl Money {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// From micro-units.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// The amount in micro-units.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Sum, or an error when it leaves the range of an `i64`.
    pub fn plus(self, other: Self) -> Result<Self> {
        self.0.checked_add(other.0).map(Self).ok_or_else(overflow)
    }

    /// Difference, or an error when it leaves the range of an `i64`.
    pub fn minus(self, other: Self) -> Result<Self> {
        self.0.checked_sub(other.0).map(Self).ok_or_else(overflow)
    }

    /// Sum of many amounts.
    pub fn sum(amounts: impl IntoIterator<Item = Self>) -> Result<Self> {
        amounts.into_iter().try_fold(Self::ZERO, Self::plus)
    }

    /// Whether this is more than nothing.
    pub const fn is_positive(self) -> bool {
        self.0 > 0
    }

    /// Rounded half-up (away from zero for debts) to 0.01, for a line of a bill.
    pub fn rounded_to_cents(self) -> Self {
        const CENT: i64 = MICROS / 100;
        let half = if self.0 < 0 { -CENT / 2 } else { CENT / 2 };
        Self(self.0.saturating_add(half) / CENT * CENT)
    }
}

impl Rate {
    /// Free of charge.
    pub const ZERO: Self = Self(0);

    /// From micro-units per hour.
    pub const fn from_micros_per_hour(micros: i64) -> Self {
        Self(micros)
    }

    /// Micro-units per hour.
    pub const fn micros_per_hour(self) -> i64 {
        self.0
    }

    /// Sum of two rates.
    pub fn plus(self, other: Self) -> Result<Self> {
        self.0.checked_add(other.0).map(Self).ok_or_else(overflow)
    }

    /// The rate of `count` equal things.
    pub fn times(self, count: i64) -> Result<Self> {
        self.0.checked_mul(count).map(Self).ok_or_else(overflow)
    }

    /// This rate times `numerator / denominator`, rounded half-up.
    pub fn scaled(self, numerator: i64, denominator: i64) -> Result<Self> {
        if denominator <= 0 {
            return Err(Error::new(Cause::InvalidRequest, "a rate can only be divided by a positive number"));
        }
        let d = i128::from(denominator);
        let product = i128::from(self.0) * i128::from(numerator);
        let rounded = (product * 2 + d).div_euclid(d * 2);
        i64::try_from(rounded).map(Self).map_err(|_| overflow())
    }

    /// `floor(rate × elapsed_ms / 3 600 000)`: what `elapsed_ms` milliseconds cost.
    ///
    /// The floor is taken once over the whole elapsed time, so that settling in
    /// any number of steps adds up to the same amount.
    pub fn charge(self, elapsed_ms: i64) -> Result<Money> {
        let micros = (i128::from(self.0) * i128::from(elapsed_ms.max(0))).div_euclid(MS_PER_HOUR);
        i64::try_from(micros).map(Money).map_err(|_| overflow())
    }

    /// The longest time, in milliseconds, that `money` pays for at this rate;
    /// `None` when the rate is zero (for ever).
    pub fn lasts_ms(self, money: Money) -> Option<i64> {
        if self.0 <= 0 {
            return None;
        }
        let ms = i128::from(money.0.max(0)) * MS_PER_HOUR / i128::from(self.0);
        Some(i64::try_from(ms).unwrap_or(i64::MAX))
    }
}

fn overflow() -> Error {
    Error::new(Cause::InvalidAmount, "the amount is too large to count")
        .hint("amounts are limited to about 9 trillion units")
}

fn format_micros(micros: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let sign = if micros < 0 { "-" } else { "" };
    let abs = micros.unsigned_abs();
    let (whole, part) = (abs / MICROS.unsigned_abs(), abs % MICROS.unsigned_abs());
    let mut digits = format!("{part:06}");
    while digits.len() > 2 && digits.ends_with('0') {
        digits.pop();
    }
    f.pad(&format!("{sign}{whole}.{digits}"))
}

fn parse_micros(text: &str) -> Result<i64> {
    let bad = || {
        Error::new(Cause::InvalidAmount, format!("`{}` is not an amount of money", text.escape_debug()))
            .hint("write it like 12 or 12.50, with at most six decimals and no currency sign")
    };
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, part) = rest.split_once('.').unwrap_or((rest, "0"));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 6 {
        return Err(bad());
    }
    let whole: i64 = whole.parse().map_err(|_| overflow())?;
    let part: i64 = format!("{part:0<6}").parse().map_err(|_| bad())?;
    whole.checked_mul(MICROS).and_then(|m| m.checked_add(part)).map(|m| m * sign).ok_or_else(overflow)
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Object { micros: i64 },
}

macro_rules! decimal_form {
    ($t:ident) => {
        impl fmt::Display for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                format_micros(self.0, f)
            }
        }
        impl FromStr for $t {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                parse_micros(text).map(Self)
            }
        }
        impl Serialize for $t {
            fn serialize<S: Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct;
                let mut o = s.serialize_struct(stringify!($t), 2)?;
                o.serialize_field("amount", &self.to_string())?;
                o.serialize_field("micros", &self.0)?;
                o.end()
            }
        }
        impl<'de> Deserialize<'de> for $t {
            fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
                match Form::deserialize(d)? {
                    Form::Text(text) => text.parse().map_err(de::Error::custom),
                    Form::Object { micros } => Ok(Self(micros)),
                }
            }
        }
        impl utoipa::PartialSchema for $t {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                use utoipa::openapi::{KnownFormat, ObjectBuilder, SchemaFormat, schema::Type};
                ObjectBuilder::new()
                    .property("amount", ObjectBuilder::new().schema_type(Type::String))
                    .property(
                        "micros",
                        ObjectBuilder::new()
                            .schema_type(Type::Integer)
                            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64))),
                    )
                    .required("amount")
                    .required("micros")
                    .into()
            }
        }
        impl utoipa::ToSchema for $t {}
    };
}

decimal_form!(Money);
decimal_form!(Rate);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prints_at_least_two_decimals() {
        assert_eq!(Money::from_micros(4_466_666).to_string(), "4.466666");
        assert_eq!(Money::from_micros(1_800_000).to_string(), "1.80");
        assert_eq!(Money::from_micros(-50).to_string(), "-0.00005");
    }

    #[test]
    fn refuses_what_is_not_money() {
        for bad in ["", "-", "1.", ".5", "1.2.3", "1e3", "1,5", "NaN", "0.1234567", "99999999999999999999", "¥5"] {
            let error = bad.parse::<Money>().unwrap_err();
            assert_eq!(error.cause(), Cause::InvalidAmount, "{bad}");
        }
    }

    #[test]
    fn rounds_half_up_to_cents() {
        let cents = |m| Money::from_micros(m).rounded_to_cents().to_string();
        assert_eq!(cents(4_466_666), "4.47");
        assert_eq!(cents(4_465_000), "4.47");
        assert_eq!(cents(4_464_999), "4.46");
        assert_eq!(cents(-4_465_000), "-4.47");
    }

    proptest! {
        #[test]
        fn text_and_json_come_back(m in any::<i64>().prop_filter("i64::MIN has no text", |m| *m > i64::MIN)) {
            let money = Money::from_micros(m);
            prop_assert_eq!(money.to_string().parse::<Money>().unwrap(), money);
        }

        #[test]
        fn settling_in_steps_adds_up(rate in 0..1_000_000_000_000i64, steps in proptest::collection::vec(0..100_000_000i64, 1..40)) {
            let rate = Rate::from_micros_per_hour(rate);
            let (mut elapsed, mut posted) = (0, Money::ZERO);
            for step in steps {
                elapsed += step;
                let due = rate.charge(elapsed).unwrap().minus(posted).unwrap();
                prop_assert!(due >= Money::ZERO);
                posted = posted.plus(due).unwrap();
            }
            prop_assert_eq!(posted, rate.charge(elapsed).unwrap());
        }

        #[test]
        fn money_lasts_exactly_as_long_as_it_pays(rate in 1..1_000_000_000i64, money in 0..1_000_000_000_000i64) {
            let rate = Rate::from_micros_per_hour(rate);
            let ms = rate.lasts_ms(Money::from_micros(money)).unwrap();
            prop_assert!(rate.charge(ms).unwrap() <= Money::from_micros(money));
            prop_assert!(rate.charge(ms.saturating_add(1)).unwrap() >= Money::from_micros(money));
        }
    }
}
