//! Stop rules, seen from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]

use e2e::{Person, Site, assert_bill_is_right, at, micros, soon, text};
use rustix::process::Signal;

/// What is billed of an instance that was stopped once.
fn stretch(renter: &Person, id: &str) -> (i64, i64, i64) {
    let ready = renter.events(id, "ready");
    let stop = renter.events(id, "stop-accepted");
    assert_eq!((ready.len(), stop.len()), (1, 1));
    (micros(&renter.show(id)["rate"]), at(&ready[0]["data"]["ready_at"]).micros(), at(&stop[0]["at"]).micros())
}

/// Stopped by itself for this cause, and every view says so.
fn assert_stopped(site: &Site, renter: &Person, id: &str, cause: &str) {
    let view = renter.wait_for(id, "stopped");
    assert_eq!(view["reason"]["code"], cause, "{view}");
    let why = renter.json(&["why", id]);
    assert_eq!(why["reason"]["code"], cause, "{why}");
    assert!(!text(&why["summary"]).is_empty());
    assert!(renter.ok(&["why", id]).contains(view["reason"]["message"].as_str().unwrap()), "{view}");
    assert_eq!(renter.events(id, "stop-accepted")[0]["data"]["cause"], cause);
    assert_bill_is_right(site, renter, 100_000_000, &[stretch(renter, id)]);
    assert_eq!(site.free("T4"), 1, "its card is free again");
}

#[test]
fn an_idle_instance_stops_and_a_busy_one_does_not() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let id = renter.rent("T4", &["--stop-idle", "5s"]);
    // By itself, without anybody connected: what works is not idle.
    renter.inside(&id, "(while [ ! -e /tmp/enough ]; do :; done) >/dev/null 2>&1 & echo");
    let ready = at(&renter.show(&id)["ready_at"]).micros();
    let look = || renter.json(&["top", &id, "--once"])["instances"][0].clone();
    // Far beyond its idle time it still runs.
    let view = soon("it has run for three idle times", || {
        let seen = look();
        assert_eq!(seen["state"], "running", "stopped although it works: {}", renter.ok(&["why", &id]));
        Some(seen).filter(|s| at(&s["usage"]["at"]).micros() > ready + 15_000_000)
    });
    assert!(at(&view["usage"]["last_active_at"]).micros() > ready + 10_000_000, "{view}");
    renter.inside(&id, "touch /tmp/enough");
    assert_stopped(&site, &renter, &id, "idle");
    let last = text(&renter.show(&id)["reason"]["message"]);
    assert!(last.contains("no activity for 5s"), "{last}");
}

#[test]
fn an_open_terminal_without_use_does_not_keep_an_instance() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let id = renter.rent("T4", &["--stop-idle", "5s"]);
    let session = renter.start(&["exec", &id, "--", "sleep", "1000"]);
    assert_stopped(&site, &renter, &id, "idle");
    let ended = session.finish();
    assert_ne!(ended.code, 0, "a session that was cut off is no success: {ended:?}");
}

#[test]
fn idling_is_allowed_when_the_rule_is_off() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let quick = renter.rent("T4", &["--stop-idle", "5s"]);
    let kept = renter.rent("L40S", &["--stop-idle", "off"]);
    let rules = renter.show(&kept)["rules"].to_string();
    assert!(rules.contains("off"), "{rules}");
    // They began together; where one has stopped for idling, the other goes on.
    renter.wait_for(&quick, "stopped");
    assert_eq!(renter.state(&kept), "running");
    assert_eq!(renter.inside(&kept, "echo here"), "here");
}

#[test]
fn a_timer_stops_a_busy_instance() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let id = renter.rent("T4", &["--stop-idle", "off", "--stop-after", "6s"]);
    let busy = renter.start(&["exec", &id, "--", "sh", "-c", "while :; do :; done"]);
    assert_stopped(&site, &renter, &id, "timer");
    let (_, from, to) = stretch(&renter, &id);
    assert!(to - from >= 6_000_000, "it ran {} µs", to - from);
    busy.signal(Signal::TERM);
    busy.finish();
}

#[test]
fn a_budget_stops_before_it_is_overdrawn_and_never_counts_twice() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    // 0.80 an hour: 0.001 lasts 4.5 s.
    let id = renter.rent("T4", &["--stop-idle", "off", "--budget", "0.001"]);
    assert_stopped(&site, &renter, &id, "budget-spent");
    let cost = micros(&renter.show(&id)["cost_so_far"]);
    assert!(cost >= 1_000, "stopped before its budget was used: {cost} micro-units");
    // Started again it has nothing left.
    let again = renter.run(&["--json", "start", &id, "--wait"]);
    let view = renter.wait_for(&id, "stopped");
    assert_eq!(view["reason"]["code"], "budget-spent", "{view} after {again:?}");
}
