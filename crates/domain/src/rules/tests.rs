use super::*;
use proptest::prelude::*;

fn t(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn facts() -> RunFacts {
    RunFacts {
        ready_at: t("2026-03-01T10:00:00Z"),
        last_active_at: t("2026-03-01T11:00:00Z"),
        rate: "1.80".parse().unwrap(),
        spent_before: Money::ZERO,
        segment_from: Some(t("2026-03-01T10:00:00Z")),
        snoozed_until: None,
    }
}

fn money(text: &str) -> Option<Money> {
    Some(text.parse().unwrap())
}

#[test]
fn an_idle_instance_stops_after_two_hours_and_is_told_why() {
    let rules = Rules::default();
    assert_eq!(rules.next_check(&facts()), Some(t("2026-03-01T13:00:00Z")));
    assert_eq!(
        rules.verdict(t("2026-03-01T12:59:59.999999Z"), &facts()),
        Verdict::Continue { next: Some(t("2026-03-01T13:00:00Z")) }
    );
    assert_eq!(
        rules.verdict(t("2026-03-01T13:00:00Z"), &facts()),
        Verdict::Stop {
            cause: Cause::Idle,
            why: "no activity for 2h (since 2026-03-01 11:00:00Z): the card was below 5 % and nobody was connected"
                .into()
        }
    );
}

#[test]
fn idle_time_before_ready_does_not_count() {
    let facts = RunFacts { last_active_at: Timestamp::EPOCH, ..facts() };
    assert_eq!(Rules::default().next_check(&facts), Some(t("2026-03-01T12:00:00Z")));
}

#[test]
fn off_means_off() {
    assert_eq!(Rules::OFF.next_check(&facts()), None);
    assert_eq!(Rules::OFF.verdict(t("2036-01-01T00:00:00Z"), &facts()), Verdict::Continue { next: None });
    assert_eq!(parse_idle("off").unwrap(), None);
    assert_eq!(parse_idle("30m").unwrap(), Some(Span::from_secs(1_800)));
    assert_eq!(parse_idle("never").unwrap_err().cause(), Cause::InvalidRequest);
}

#[test]
fn json_tells_missing_from_off() {
    let read = |text: &str| serde_json::from_str::<Rules>(text).unwrap();
    assert_eq!(read("{}"), Rules::default());
    assert_eq!(read(r#"{"idle":null}"#), Rules::OFF);
    assert_eq!(read(r#"{"idle":60000000}"#).idle, Some(Span::from_secs(60)));
    assert!(serde_json::from_str::<Rules>(r#"{"idel":1}"#).is_err());
    let all = Rules { idle: None, after: Some(MIN_IDLE), at: Some(Timestamp::EPOCH), budget: money("5") };
    assert_eq!(read(&serde_json::to_string(&all).unwrap()), all);
}

#[test]
fn timers_fire_at_their_instants() {
    let rules = Rules { after: Some(Span::from_hours(8)), ..Rules::OFF };
    assert_eq!(rules.next_check(&facts()), Some(t("2026-03-01T18:00:00Z")));
    let rules = Rules { at: Some(t("2026-03-01T17:00:00Z")), ..rules };
    let Verdict::Stop { cause, why } = rules.verdict(t("2026-03-02T00:00:00Z"), &facts()) else { unreachable!() };
    assert_eq!((cause, why.as_str()), (Cause::Timer, "its timer was set to 2026-03-01 17:00:00Z"));
}

#[test]
fn a_budget_is_never_exceeded() {
    let rules = Rules { budget: money("2.70"), ..Rules::OFF };
    assert_eq!(rules.next_check(&facts()), Some(t("2026-03-01T11:30:00Z")), "2.70 at 1.80/h last 90 minutes");
    let resumed = RunFacts { spent_before: "0.90".parse().unwrap(), ..facts() };
    assert_eq!(rules.next_check(&resumed), Some(t("2026-03-01T11:00:00Z")));
    let Verdict::Stop { cause, why } = rules.verdict(t("2026-03-01T11:00:00Z"), &resumed) else { unreachable!() };
    assert_eq!((cause, why.as_str()), (Cause::BudgetSpent, "its budget of 2.70 is used up"));
    let over = RunFacts { spent_before: "2.70".parse().unwrap(), segment_from: None, ..facts() };
    assert!(matches!(rules.verdict(over.ready_at, &over), Verdict::Stop { .. }));
    let paused = RunFacts { segment_from: None, ..facts() };
    assert_eq!(rules.next_check(&paused), None, "a meter that stands still spends nothing");
}

#[test]
fn the_rule_that_fired_first_is_the_cause() {
    let rules = Rules { after: Some(Span::from_hours(1)), budget: money("100"), ..Rules::default() };
    let Verdict::Stop { cause, .. } = rules.verdict(t("2026-03-05T00:00:00Z"), &facts()) else { unreachable!() };
    assert_eq!(cause, Cause::Timer);
}

#[test]
fn senseless_rules_are_refused() {
    let now = t("2026-03-01T10:00:00Z");
    let refused = |rules: Rules| rules.checked(now).unwrap_err().cause();
    assert_eq!(
        refused(Rules { idle: Some(Span::from_micros(MIN_IDLE.micros() - 1)), ..Rules::OFF }),
        Cause::InvalidRequest
    );
    assert_eq!(refused(Rules { after: Some(Span::ZERO), ..Rules::OFF }), Cause::InvalidRequest);
    assert_eq!(refused(Rules { at: Some(now), ..Rules::OFF }), Cause::InvalidRequest);
    assert_eq!(refused(Rules { budget: Some(Money::ZERO), ..Rules::OFF }), Cause::InvalidAmount);
    assert!(Rules::default().checked(now).is_ok());
    let past = Rules { at: Some(now), ..Rules::default() };
    assert_eq!(past.without_past(now), Rules::default());
    assert_eq!(past.without_past(Timestamp::EPOCH), past);
}

#[test]
fn stop_at_means_the_next_such_time_in_the_zone() {
    let shanghai = |text: &str, now: &str| stop_at(text, "Asia/Shanghai", t(now)).unwrap().to_string();
    assert_eq!(shanghai("22:00", "2026-03-01T10:00:00Z"), "2026-03-01T14:00:00Z");
    assert_eq!(shanghai("22:00", "2026-03-01T14:00:00Z"), "2026-03-02T14:00:00Z", "now is not later");
    assert_eq!(shanghai("07:30", "2026-03-01T20:00:00Z"), "2026-03-01T23:30:00Z", "it is already tomorrow there");
    assert_eq!(shanghai("2026-03-05 22:00", "2026-03-01T10:00:00Z"), "2026-03-05T14:00:00Z");
    assert_eq!(shanghai("2026-03-05T22:00:00+01:00", "2026-03-01T10:00:00Z"), "2026-03-05T21:00:00Z");
}

#[test]
fn stop_at_survives_clock_changes() {
    let berlin = |text: &str, now: &str| stop_at(text, "Europe/Berlin", t(now)).unwrap().to_string();
    // 29 March 2026: 02:00 becomes 03:00, so 02:30 does not occur and means 03:30.
    assert_eq!(berlin("02:30", "2026-03-28T23:00:00Z"), "2026-03-29T01:30:00Z");
    // 25 October 2026: 02:30 occurs twice, at 00:30Z and 01:30Z.
    assert_eq!(berlin("02:30", "2026-10-24T23:00:00Z"), "2026-10-25T00:30:00Z");
    assert_eq!(berlin("02:30", "2026-10-25T00:30:00Z"), "2026-10-25T01:30:00Z");
    assert_eq!(berlin("02:30", "2026-10-25T01:30:00Z"), "2026-10-26T01:30:00Z");
    assert_eq!(berlin("2026-10-25 02:30", "2026-10-25T00:40:00Z"), "2026-10-25T01:30:00Z");
    // 30 December 2011 did not exist in Apia.
    assert_eq!(
        stop_at("10:00", "Pacific/Apia", t("2011-12-30T09:30:00Z")).unwrap().to_string(),
        "2011-12-30T20:00:00Z"
    );
}

#[test]
fn stop_at_refuses_what_is_no_time_to_come() {
    let now = t("2026-03-01T10:00:00Z");
    for bad in [
        "",
        "22",
        "25:00",
        "9pm",
        "22:00 tomorrow",
        "2026-13-01 10:00",
        "2026-02-01 10:00",
        "-1:00",
        "2026-03-01T10:00:00Z",
    ] {
        assert_eq!(stop_at(bad, "UTC", now).unwrap_err().cause(), Cause::InvalidRequest, "{bad:?}");
    }
    assert!(stop_at("22:00", "Mars/Base", now).unwrap_err().message().contains("Mars/Base"));
}

proptest! {
    #[test]
    fn next_check_and_verdict_agree(
        idle in proptest::option::of(0..10_000_000_000i64),
        after in proptest::option::of(0..10_000_000_000i64),
        at in proptest::option::of(0..10_000_000_000i64),
        budget in proptest::option::of(1..10_000_000i64),
        spent in 0..10_000_000i64, rate in 0..100_000_000i64, now in 0..20_000_000_000i64,
    ) {
        let rules = Rules {
            idle: idle.map(Span::from_micros),
            after: after.map(Span::from_micros),
            at: at.map(Timestamp::from_micros),
            budget: budget.map(Money::from_micros),
        };
        let facts = RunFacts {
            ready_at: Timestamp::EPOCH,
            last_active_at: Timestamp::EPOCH,
            rate: Rate::from_micros_per_hour(rate),
            spent_before: Money::from_micros(spent),
            segment_from: Some(Timestamp::EPOCH), snoozed_until: None,
        };
        let next = rules.next_check(&facts);
        match rules.verdict(Timestamp::from_micros(now), &facts) {
            Verdict::Stop { why, .. } => {
                prop_assert!(next.is_some_and(|n| n.micros() <= now));
                prop_assert!(!why.is_empty());
            }
            Verdict::Continue { next: again } => {
                prop_assert_eq!(again, next);
                prop_assert!(next.is_none_or(|n| n.micros() > now));
            }
        }
    }

    #[test]
    fn no_text_breaks_stop_at(text in "[-0-9:TZ +apm]{0,24}|\\PC{0,20}", now in any::<i64>()) {
        let now = Timestamp::from_micros(now);
        if let Ok(at) = stop_at(&text, "Europe/Berlin", now) {
            prop_assert!(at > now);
        }
    }

    #[test]
    fn extreme_facts_do_not_break_rules(a in any::<i64>(), b in any::<i64>(), c in any::<i64>(), d in any::<i64>()) {
        let facts = RunFacts {
            ready_at: Timestamp::from_micros(a),
            last_active_at: Timestamp::from_micros(b),
            rate: Rate::from_micros_per_hour(c),
            spent_before: Money::from_micros(d),
            segment_from: Some(Timestamp::from_micros(b)), snoozed_until: None,
        };
        let rules = Rules { after: Some(Span::from_micros(c)), budget: Some(Money::from_micros(a)), ..Rules::default() };
        let _ = rules.verdict(Timestamp::from_micros(d), &facts);
    }
}

#[test]
fn a_snooze_gives_time_but_no_money() {
    let until = Some(t("2026-03-01T15:00:00Z"));
    let snoozed = RunFacts { snoozed_until: until, ..facts() };
    let timers = [
        Rules::default(),
        Rules { after: Some(Span::from_hours(1)), ..Rules::OFF },
        Rules { at: Some(t("2026-03-01T12:00:00Z")), ..Rules::OFF },
    ];
    for rules in timers {
        assert_eq!(rules.next_check(&snoozed), until);
        assert!(matches!(rules.verdict(t("2026-03-01T15:00:00Z"), &snoozed), Verdict::Stop { .. }));
    }
    // A rule that fires later anyway fires then.
    let late = Rules { at: Some(t("2026-03-01T16:00:00Z")), ..Rules::OFF };
    assert_eq!(late.next_check(&snoozed), late.at);
    let budget = Rules { budget: money("3.60"), ..Rules::OFF };
    assert_eq!(budget.next_check(&snoozed), budget.next_check(&facts()));
}
