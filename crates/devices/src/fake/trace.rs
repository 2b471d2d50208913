//! What cards show at scripted moments, whatever their load.

use base::Span;
use serde::{Deserialize, Deserializer, de};

/// A script for some cards of a profile.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Trace {
    /// Positions of the cards; absent for all.
    pub(super) cards: Option<Vec<usize>>,
    /// After this time the script starts again.
    #[serde(default, deserialize_with = "some_span")]
    pub(super) repeat: Option<Span>,
    /// In order of time.
    pub(super) points: Vec<Point>,
}

/// From `at` on, the fields that are set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Point {
    #[serde(deserialize_with = "span")]
    pub(super) at: Span,
    #[serde(default)]
    follow_load: bool,
    gpu_util_pct: Option<i64>,
    memory_used_mib: Option<i64>,
    power_mw: Option<i64>,
    sm_clock_mhz: Option<i64>,
    temperature_c: Option<i64>,
    lost: Option<bool>,
}

/// What is scripted for a card at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Show {
    pub(super) gpu_util_pct: Option<i64>,
    pub(super) memory_used_mib: Option<i64>,
    pub(super) power_mw: Option<i64>,
    pub(super) sm_clock_mhz: Option<i64>,
    pub(super) temperature_c: Option<i64>,
    pub(super) lost: Option<bool>,
}

impl Show {
    /// What is set in `later` replaces what was set before.
    fn then(self, later: &Point) -> Self {
        if later.follow_load {
            return Self::default().then(&Point { follow_load: false, ..later.clone() });
        }
        Self {
            gpu_util_pct: later.gpu_util_pct.or(self.gpu_util_pct),
            memory_used_mib: later.memory_used_mib.or(self.memory_used_mib),
            power_mw: later.power_mw.or(self.power_mw),
            sm_clock_mhz: later.sm_clock_mhz.or(self.sm_clock_mhz),
            temperature_c: later.temperature_c.or(self.temperature_c),
            lost: later.lost.or(self.lost),
        }
    }
}

/// What is scripted for the card at `place`, `now` after the start. Later scripts win.
pub(super) fn show(traces: &[Trace], place: usize, now: Span) -> Show {
    let mine = traces.iter().filter(|trace| trace.cards.as_ref().is_none_or(|cards| cards.contains(&place)));
    mine.fold(Show::default(), |show, trace| {
        let now = match trace.repeat {
            Some(round) => Span::from_micros(now.micros().checked_rem(round.micros()).unwrap_or(0)),
            None => now,
        };
        let passed = trace.points.iter().take_while(|point| point.at <= now);
        passed.fold(show, Show::then)
    })
}

/// Checks what the format cannot.
pub(super) fn check(trace: &Trace, cards: usize) -> Result<(), String> {
    if let Some(place) = trace.cards.iter().flatten().find(|place| **place >= cards) {
        return Err(format!("a trace speaks of card {place}, and the cards are 0 to {}", cards.saturating_sub(1)));
    }
    if trace.points.windows(2).any(|pair| pair[0].at > pair[1].at) {
        return Err("the points of a trace must be in order of time".to_owned());
    }
    if trace.repeat.is_some_and(|round| round <= Span::ZERO) {
        return Err("a trace cannot repeat after no time".to_owned());
    }
    Ok(())
}

/// Reads `1h30m`, `90s`, `250ms`.
fn parse_span(text: &str) -> Option<Span> {
    let mut rest = text;
    let mut micros = 0_i64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest[..digits].parse().ok()?;
        let unit_end = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| digits + at);
        let unit = match &rest[digits..unit_end] {
            "ms" => Span::from_millis(1),
            "s" => Span::from_secs(1),
            "m" => Span::from_secs(60),
            "h" => Span::from_hours(1),
            _ => return None,
        };
        micros = micros.checked_add(number.checked_mul(unit.micros())?)?;
        rest = &rest[unit_end..];
    }
    (!text.is_empty()).then_some(Span::from_micros(micros))
}

fn span<'de, D: Deserializer<'de>>(d: D) -> Result<Span, D::Error> {
    let text = String::deserialize(d)?;
    parse_span(&text)
        .ok_or_else(|| de::Error::custom(format!("`{text}` is not a length of time; write it like 90s or 1h30m")))
}

fn some_span<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Span>, D::Error> {
    span(d).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(text: &str) -> Trace {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn lengths_of_time_are_read() {
        assert_eq!(parse_span("1h30m"), Some(Span::from_secs(5_400)));
        assert_eq!(parse_span("250ms"), Some(Span::from_millis(250)));
        for wrong in ["", "10", "s", "1d", "-1s", "9223372036854775807h"] {
            assert_eq!(parse_span(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn later_points_keep_what_earlier_ones_set() {
        let traces = [trace(
            "cards = [1]\npoints = [{at='10s', gpu_util_pct=95, memory_used_mib=9}, {at='20s', gpu_util_pct=0}, \
             {at='30s', follow_load=true, lost=true}]",
        )];
        let at = |secs| show(&traces, 1, Span::from_secs(secs));
        assert_eq!(at(9), Show::default());
        assert_eq!(at(10), Show { gpu_util_pct: Some(95), memory_used_mib: Some(9), ..Show::default() });
        assert_eq!(at(29), Show { gpu_util_pct: Some(0), memory_used_mib: Some(9), ..Show::default() });
        assert_eq!(at(30), Show { lost: Some(true), ..Show::default() });
        assert_eq!(show(&traces, 0, Span::from_secs(30)), Show::default());
    }

    #[test]
    fn a_trace_can_start_again() {
        let traces = [trace("repeat='1m'\npoints = [{at='0s', gpu_util_pct=1}, {at='30s', gpu_util_pct=2}]")];
        let at = |secs| show(&traces, 0, Span::from_secs(secs)).gpu_util_pct;
        assert_eq!([at(29), at(30), at(60), at(90)], [Some(1), Some(2), Some(1), Some(2)]);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(check(&trace("cards=[8]\npoints=[]"), 8).is_err());
        assert!(check(&trace("points=[{at='2s'}, {at='1s'}]"), 8).is_err());
        assert!(check(&trace("repeat='0s'\npoints=[]"), 8).is_err());
        assert!(check(&trace("cards=[7]\npoints=[{at='1s'}, {at='1s'}]"), 8).is_ok());
        assert!(toml::from_str::<Trace>("points=[{at='1s', gpu_utl=3}]").is_err(), "a typing error went through");
    }
}
