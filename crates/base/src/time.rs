//! Instants and lengths of time as integer microseconds, UTC.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Cause, Error, Result};

/// An instant: microseconds since 1970-01-01T00:00:00Z. RFC 3339 in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A length of time in microseconds. Whole seconds in JSON would lose truth, so
/// it is written as microseconds (`micros`); people write `30m` or `2h30m`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(i64);

impl Timestamp {
    /// The earliest instant, used for "before everything".
    pub const EPOCH: Self = Self(0);

    /// From microseconds since the epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// The instant `span` later; stays at the end of time instead of wrapping.
    pub const fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The instant `span` earlier.
    pub const fn before(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// How long after `earlier` this is; negative when it is not.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// As shown to people in an IANA time zone: `2026-03-01 18:00:05`.
    ///
    /// # Errors
    /// An unknown zone name.
    pub fn in_zone(self, zone: &str) -> Result<String> {
        let instant = jiff::Timestamp::from_microsecond(self.0)
            .map_err(|_| Error::new(Cause::InvalidRequest, "the instant is out of range"))?;
        let zoned = instant.in_tz(zone).map_err(|_| {
            Error::new(Cause::InvalidRequest, format!("`{}` is not a time zone", zone.escape_debug()))
                .hint("use an IANA name such as Asia/Shanghai or UTC")
        })?;
        Ok(zoned.strftime("%Y-%m-%d %H:%M:%S").to_string())
    }
}

/// The first instant of a calendar month (`2026-03`) in a time zone, and the
/// first of the next.
///
/// # Errors
/// A month or zone that does not exist.
pub fn month_bounds(month: &str, zone: &str) -> Result<(Timestamp, Timestamp)> {
    let bad = || {
        Error::new(Cause::InvalidRequest, format!("`{}` is not a month", month.escape_debug()))
            .hint("write the month as YYYY-MM, for example 2026-03")
    };
    let (year, number) = month.split_once('-').ok_or_else(bad)?;
    let date = jiff::civil::Date::new(year.parse().map_err(|_| bad())?, number.parse().map_err(|_| bad())?, 1)
        .map_err(|_| bad())?;
    let next = date.checked_add(jiff::Span::new().months(1)).map_err(|_| bad())?;
    let start = |d: jiff::civil::Date| {
        d.in_tz(zone).map(|z| Timestamp(z.timestamp().as_microsecond())).map_err(|_| {
            Error::new(Cause::InvalidRequest, format!("`{}` is not a time zone", zone.escape_debug()))
                .hint("use an IANA name such as Asia/Shanghai or UTC")
        })
    };
    Ok((start(date)?, start(next)?))
}

/// The first instant of the day in a time zone to which an instant belongs.
///
/// # Errors
/// A zone that does not exist.
pub fn day_start(at: Timestamp, zone: &str) -> Result<Timestamp> {
    let day = at.in_zone(zone)?;
    let date: jiff::civil::Date = day.get(..10).unwrap_or_default().parse().map_err(Error::internal)?;
    let start = date.in_tz(zone).map_err(Error::internal)?;
    Ok(Timestamp(start.timestamp().as_microsecond()))
}

impl Span {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// From microseconds.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// From milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// From seconds.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// From hours.
    pub const fn from_hours(hours: i64) -> Self {
        Self::from_secs(hours.saturating_mul(3_600))
    }

    /// Microseconds.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole milliseconds, rounded down: the unit that charges count in.
    pub const fn millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// Whole seconds, rounded down.
    pub const fn secs(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(instant) => instant.fmt(f),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        text.parse::<jiff::Timestamp>().map(|t| Self(t.as_microsecond())).map_err(|_| {
            Error::new(Cause::InvalidRequest, format!("`{}` is not an instant", text.escape_debug()))
                .hint("write it like 2026-03-01T10:00:00Z")
        })
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(de::Error::custom)
    }
}

impl utoipa::PartialSchema for Timestamp {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::{KnownFormat, ObjectBuilder, SchemaFormat, schema::Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .into()
    }
}
impl utoipa::ToSchema for Timestamp {}

impl utoipa::PartialSchema for Span {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::{KnownFormat, ObjectBuilder, SchemaFormat, schema::Type};
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .description(Some("microseconds"))
            .into()
    }
}
impl utoipa::ToSchema for Span {}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        let (secs, millis) = (total / 1_000_000, total % 1_000_000 / 1_000);
        let (d, h, m, s) = (secs / 86_400, secs / 3_600 % 24, secs / 60 % 60, secs % 60);
        let mut text = String::from(sign);
        for (n, unit) in [(d, "d"), (h, "h"), (m, "m")] {
            if n > 0 {
                text.push_str(&format!("{n}{unit}"));
            }
        }
        if millis > 0 {
            text.push_str(&format!("{s}.{millis:03}s"));
        } else if s > 0 || text.len() == sign.len() {
            text.push_str(&format!("{s}s"));
        }
        f.pad(&text)
    }
}

impl FromStr for Span {
    type Err = Error;
    /// Reads `30m`, `2h30m`, `10s`, `3d`, `500ms`.
    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::new(Cause::InvalidRequest, format!("`{}` is not a length of time", text.escape_debug()))
                .hint("write it like 90s, 30m, 2h30m or 3d")
        };
        let (mut rest, mut total) = (text, 0i64);
        if rest.is_empty() {
            return Err(bad());
        }
        while !rest.is_empty() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let number: i64 = rest.get(..digits).and_then(|n| n.parse().ok()).ok_or_else(bad)?;
            rest = rest.get(digits..).unwrap_or("");
            let letters = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
            let unit = match rest.get(..letters).unwrap_or("") {
                "ms" => 1_000,
                "s" => 1_000_000,
                "m" => 60_000_000,
                "h" => 3_600_000_000,
                "d" => 86_400_000_000,
                _ => return Err(bad()),
            };
            rest = rest.get(letters..).unwrap_or("");
            total = number.checked_mul(unit).and_then(|n| total.checked_add(n)).ok_or_else(bad)?;
        }
        Ok(Self(total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_as_people_write_them() {
        assert_eq!("2h30m".parse::<Span>().unwrap(), Span::from_secs(9_000));
        assert_eq!("500ms".parse::<Span>().unwrap().millis(), 500);
        assert_eq!(Span::from_secs(90_061).to_string(), "1d1h1m1s");
        assert_eq!(Span::ZERO.to_string(), "0s");
        for bad in ["", "5", "m", "-5m", "5 m", "1x", "99999999999999d"] {
            assert!(bad.parse::<Span>().is_err(), "{bad}");
        }
    }

    #[test]
    fn instants_are_rfc3339_utc() {
        let t: Timestamp = "2026-03-01T10:00:00.5Z".parse().unwrap();
        assert_eq!(t.to_string(), "2026-03-01T10:00:00.5Z");
        assert_eq!(t.in_zone("Asia/Shanghai").unwrap(), "2026-03-01 18:00:00");
        assert!(t.in_zone("Mars/Base").is_err());
    }

    #[test]
    fn days_begin_in_the_account_zone() {
        let at: Timestamp = "2026-03-01T17:30:00Z".parse().unwrap();
        assert_eq!(day_start(at, "Asia/Shanghai").unwrap().to_string(), "2026-03-01T16:00:00Z");
        assert_eq!(day_start(at, "UTC").unwrap().to_string(), "2026-03-01T00:00:00Z");
        assert!(day_start(at, "Mars/Base").is_err());
    }

    #[test]
    fn months_begin_in_the_account_zone() {
        let (from, to) = month_bounds("2026-02", "Asia/Shanghai").unwrap();
        assert_eq!(from.to_string(), "2026-01-31T16:00:00Z");
        assert_eq!(to.to_string(), "2026-02-28T16:00:00Z");
        assert!(month_bounds("2026-13", "UTC").is_err());
    }
}
