//! Prepaid months and years: when they end and what an early end gives back.

use base::{Cause, Error, Money, Rate, Result, Timestamp};

use crate::segment::charge_until;

/// The same time of day `months` calendar months later in the account's zone;
/// where that day does not exist, the last day of the month. A time that a clock
/// change skips means as much later as the clock jumps.
///
/// # Errors
/// `invalid-request` for an unknown zone or a date out of range.
pub fn ends_at(from: Timestamp, months: i32, zone: &str) -> Result<Timestamp> {
    let range = || Error::new(Cause::InvalidRequest, "the end of the subscription is out of range");
    let begin = jiff::Timestamp::from_microsecond(from.micros()).map_err(|_| range())?.in_tz(zone).map_err(|_| {
        Error::new(Cause::InvalidRequest, format!("`{}` is not a time zone", zone.escape_debug()))
            .hint("use an IANA name such as Asia/Shanghai or UTC")
    })?;
    let span = jiff::Span::new().try_months(months).map_err(|_| range())?;
    let end = begin.checked_add(span).map_err(|_| range())?;
    Ok(Timestamp::from_micros(end.timestamp().as_microsecond()))
}

/// What an early end gives back: what was paid less the time since purchase at
/// the on-demand rate of that day, whether the instance ran or not, because the
/// card was kept for it. Never less than nothing.
///
/// # Errors
/// `invalid-amount` when it is too large to count.
pub fn refund(paid: Money, bought_at: Timestamp, on_demand: Rate, ended_at: Timestamp) -> Result<Money> {
    paid.minus(charge_until(bought_at, on_demand, ended_at)?.min(paid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_year_ends_on_the_same_day_or_the_last_one() {
        let end = |from: &str, months, zone: &str| ends_at(from.parse().unwrap(), months, zone).unwrap().to_string();
        assert_eq!(end("2028-02-29T00:00:00Z", 12, "UTC"), "2029-02-28T00:00:00Z");
        assert_eq!(end("2026-02-28T01:30:00Z", 1, "Europe/Berlin"), "2026-03-28T01:30:00Z");
        assert_eq!(end("2026-03-01T11:00:00Z", 1, "Europe/Berlin"), "2026-04-01T10:00:00Z", "noon stays noon");
        assert_eq!(ends_at(Timestamp::EPOCH, 1, "Mars/Base").unwrap_err().cause(), Cause::InvalidRequest);
        assert_eq!(ends_at(Timestamp::EPOCH, i32::MAX, "UTC").unwrap_err().cause(), Cause::InvalidRequest);
    }

    proptest! {
        #[test]
        fn a_refund_lies_between_nothing_and_everything(paid in 0..10_000_000_000i64, rate in 0..100_000_000i64, h in 0..10_000i64) {
            let (paid, rate) = (Money::from_micros(paid), Rate::from_micros_per_hour(rate));
            let end = Timestamp::EPOCH.after(base::Span::from_hours(h));
            let back = refund(paid, Timestamp::EPOCH, rate, end).unwrap();
            prop_assert!(back >= Money::ZERO && back <= paid);
        }
    }
}
