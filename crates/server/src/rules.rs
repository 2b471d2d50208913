//! Stop rules between what people write and what the controllers obey.

use api::instance::{RulesChange, RulesRequest, StopRules};
use base::{Cause, Error, Money, Result, Span, Timestamp};
use domain::rules::{Rules, parse_idle, stop_at};

/// Longest snooze. Whoever wants more time than that wants another rule.
const LONGEST_SNOOZE: Span = Span::from_hours(24 * 7);

/// Stop rules as people write them.
///
/// # Errors
/// `invalid-request` or `invalid-amount` naming the rule.
pub fn rules(request: &RulesRequest, zone: &str, now: Timestamp) -> Result<Rules> {
    let rules = Rules {
        idle: request.idle.as_deref().map_or(Ok(Rules::default().idle), parse_idle)?,
        after: request.after.as_deref().map(str::parse).transpose()?,
        at: request.at.as_deref().map(|text| instant(text, zone, now)).transpose()?,
        budget: request.budget.as_deref().map(str::parse::<Money>).transpose()?,
    };
    rules.checked(now)
}

fn instant(text: &str, zone: &str, now: Timestamp) -> Result<Timestamp> {
    text.parse::<Timestamp>().or_else(|_| stop_at(text, zone, now))
}

/// The rules after a change.
///
/// # Errors
/// `invalid-request` or `invalid-amount` naming the rule.
pub fn changed(change: &RulesChange, old: Rules, zone: &str, now: Timestamp) -> Result<Rules> {
    if *change == RulesChange::default() {
        return Err(
            Error::new(Cause::InvalidRequest, "no rule is named").hint("name idle, after, at, budget or snooze")
        );
    }
    let old = old.without_past(now);
    let rules = Rules {
        idle: change.idle.as_deref().map_or(Ok(old.idle), parse_idle)?,
        after: or_off(&change.after, old.after, str::parse)?,
        at: or_off(&change.at, old.at, |text| instant(text, zone, now))?,
        budget: or_off(&change.budget, old.budget, str::parse)?,
    };
    rules.checked(now)
}

fn or_off<T>(change: &Option<String>, old: Option<T>, read: impl Fn(&str) -> Result<T>) -> Result<Option<T>> {
    match change.as_deref() {
        None => Ok(old),
        Some("off") => Ok(None),
        Some(text) => read(text).map(Some),
    }
}

/// Until when rules are snoozed after a change.
///
/// # Errors
/// `invalid-request` for a length that is none, or too long.
pub fn snoozed(change: &RulesChange, old: Option<Timestamp>, now: Timestamp) -> Result<Option<Timestamp>> {
    let until = or_off(&change.snooze, old, |text| {
        let span: Span = text.parse()?;
        if span <= Span::ZERO || span > LONGEST_SNOOZE {
            return Err(Error::new(Cause::InvalidRequest, format!("rules cannot be snoozed for {span}"))
                .hint(format!("use up to {LONGEST_SNOOZE}, or change the rules: `suanli rule set`")));
        }
        Ok(now.after(span))
    })?;
    Ok(until.filter(|until| *until > now))
}

/// The rules for programs.
pub fn view(rules: &Rules, snoozed_until: Option<Timestamp>) -> StopRules {
    StopRules {
        idle: rules.idle.map(|span| span.to_string()),
        after: rules.after.map(|span| span.to_string()),
        at: rules.at,
        budget: rules.budget,
        snoozed_until,
    }
}

/// The rules as sentences for people.
pub fn sentences(rules: &Rules, snoozed_until: Option<Timestamp>, zone: &str, currency: &str) -> Vec<String> {
    let mut text = Vec::new();
    let local = |at: Timestamp| at.in_zone(zone).unwrap_or_else(|_| at.to_string());
    match rules.idle {
        Some(idle) => text.push(format!("stops after {idle} without activity; its data are kept")),
        None => text.push("never stops because it is idle (switched off)".into()),
    }
    if let Some(after) = rules.after {
        text.push(format!("stops {after} after it became ready"));
    }
    if let Some(at) = rules.at {
        text.push(format!("stops at {} ({zone})", local(at)));
    }
    if let Some(budget) = rules.budget {
        text.push(format!("stops when it has cost {budget} {currency}"));
    }
    if let Some(until) = snoozed_until {
        text.push(format!("until {} ({zone}) no rule stops it but the budget (snoozed)", local(until)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_stays_and_off_switches_off() {
        let now: Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
        let old =
            Rules { after: Some(Span::from_hours(8)), at: Some(now.before(Span::from_secs(1))), ..Rules::default() };
        let change = |idle: Option<&str>, after: Option<&str>, at: Option<&str>, budget: Option<&str>| {
            let text = |t: Option<&str>| t.map(str::to_owned);
            let change =
                RulesChange { idle: text(idle), after: text(after), at: text(at), budget: text(budget), snooze: None };
            changed(&change, old, "Asia/Shanghai", now)
        };
        let expected = Rules { idle: Some(Span::from_secs(1_800)), at: None, ..old };
        assert_eq!(change(Some("30m"), None, None, None).unwrap(), expected);
        let all = change(Some("off"), Some("off"), Some("22:00"), Some("5")).unwrap();
        assert_eq!((all.idle, all.after, all.budget), (None, None, Some("5".parse().unwrap())));
        assert_eq!(all.at.unwrap().to_string(), "2026-03-01T14:00:00Z");
        for bad in [
            change(None, None, None, None),
            change(Some("1s"), None, None, None),
            change(None, None, None, Some("0")),
            change(None, None, Some("2020-01-01T00:00:00Z"), None),
        ] {
            assert!(bad.is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_snooze_has_bounds_and_ends() {
        let now: Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
        let snooze = |text: &str, old| {
            snoozed(&RulesChange { snooze: Some(text.to_owned()), ..RulesChange::default() }, old, now)
        };
        let hour = Some(now.after(Span::from_hours(1)));
        assert_eq!(snooze("1h", None).unwrap(), hour);
        assert_eq!(snooze("off", hour).unwrap(), None);
        for bad in ["0s", "8d", "soon"] {
            assert!(snooze(bad, None).is_err(), "{bad}");
        }
        assert_eq!(snoozed(&RulesChange::default(), hour, now).unwrap(), hour);
        assert_eq!(snoozed(&RulesChange::default(), Some(now), now).unwrap(), None);
    }
}
