//! `--stop-at "22:00"`: a time of day in the renter's zone becomes an instant.

use base::{Cause, Error, Result, Timestamp};
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;

/// The next instant after `now` at which a clock in `zone` shows `text`.
///
/// `text` is `22:00`, `22:00:30`, `2026-03-01 22:00` (both in `zone`) or an
/// instant with offset. A time that a clock change skips means as much later as
/// the clock jumps; a time that occurs twice means the first that is yet to come.
///
/// # Errors
/// `invalid-request` for another form, an unknown zone, or a date that has passed.
pub fn stop_at(text: &str, zone: &str, now: Timestamp) -> Result<Timestamp> {
    let text = text.trim();
    let tz = TimeZone::get(zone).map_err(|_| {
        Error::new(Cause::InvalidRequest, format!("`{}` is not a time zone", zone.escape_debug()))
            .hint("use an IANA name such as Asia/Shanghai or UTC")
    })?;
    if let Ok(instant) = text.parse::<Timestamp>() {
        return later(instant, now);
    }
    if text.contains(['-', 'T', 't', ' ']) {
        let civil: DateTime = text.parse().map_err(|_| bad(text))?;
        let instants = shown_at(civil, &tz)?;
        let next = instants.iter().copied().find(|t| *t > now).or(instants.last().copied());
        return later(next.ok_or_else(|| bad(text))?, now);
    }
    if !text.starts_with(|c: char| c.is_ascii_digit()) || !text.contains(':') {
        return Err(bad(text));
    }
    let time: Time = text.parse().map_err(|_| bad(text))?;
    let instant = jiff::Timestamp::from_microsecond(now.micros()).map_err(|_| bad(text))?;
    let mut day = instant.to_zoned_datetime(tz.clone()).date();
    // A day can be missing altogether where a zone crossed the date line.
    for _ in 0..3 {
        if let Some(next) = shown_at(day.to_datetime(time), &tz)?.into_iter().find(|t| *t > now) {
            return Ok(next);
        }
        day = day.tomorrow().map_err(|_| bad(text))?;
    }
    Err(bad(text))
}

/// The first and the last instant at which a clock shows `civil`, mostly the same;
/// for a time that is skipped, the instant as much later as the clock jumps.
fn shown_at(civil: DateTime, tz: &TimeZone) -> Result<Vec<Timestamp>> {
    let ambiguous = tz.to_ambiguous_timestamp(civil);
    let both = [ambiguous.compatible(), ambiguous.later()];
    let found: Vec<_> = both.into_iter().flatten().map(|t| Timestamp::from_micros(t.as_microsecond())).collect();
    if found.is_empty() {
        return Err(Error::new(Cause::InvalidRequest, "the time is out of range"));
    }
    Ok(found)
}

fn later(instant: Timestamp, now: Timestamp) -> Result<Timestamp> {
    if instant > now {
        return Ok(instant);
    }
    Err(Error::new(Cause::InvalidRequest, format!("{instant} has passed")).hint("choose a later time"))
}

fn bad(text: &str) -> Error {
    Error::new(Cause::InvalidRequest, format!("`{}` is not a time", text.escape_debug()))
        .hint("write it like 22:00, \"2026-03-01 22:00\" or 2026-03-01T22:00:00+08:00")
}
