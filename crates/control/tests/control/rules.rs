//! Stop rules fire at their instant, say why, and spare whom nobody could ask.

use base::{Cause, Error, InstanceId, Span};
use control::testing::{Call, Trouble};
use domain::instance::State;
use domain::rules::Rules;

use crate::world::{TEN, Want, World, clock, money, want};

fn with(rules: Rules) -> Want {
    Want { rules, ..want("3.60") }
}

async fn stopped_at(w: &World, id: &InstanceId, cause: Cause, at: base::Timestamp) -> String {
    let instance = w.get(id).await;
    let reason = instance.reason.unwrap();
    assert_eq!((instance.state, reason.cause), (State::Stopped, cause));
    assert_eq!(w.segments(id).await.last().unwrap().to, Some(at));
    assert!(reason.hint.is_some());
    let told = w.events_of(id.as_str(), "stop-accepted").await;
    assert_eq!(told.last().unwrap().data["cause"], cause.code());
    reason.message
}

#[tokio::test]
async fn idle_fires_at_exactly_last_activity_plus_the_window_and_explains() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&with(Rules { idle: Some(Span::from_secs(600)), ..Rules::OFF })).await;
    w.engine().busy_until(&id, clock("10:07:00"));
    w.run_until(clock("11:00:00")).await;
    let why = stopped_at(&w, &id, Cause::Idle, clock("10:17:00")).await;
    assert!(why.contains("2026-03-01 10:07:00Z") && why.contains("10m"), "{why}");
    assert!(why.contains("the card was at 0 %"), "{why}");
    w.check_at_peace().await;
}

#[tokio::test]
async fn activity_again_and_again_keeps_it_alive() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&with(Rules { idle: Some(Span::from_secs(600)), ..Rules::OFF })).await;
    for minute in [9, 18, 27] {
        let at = TEN.after(Span::from_secs(minute * 60));
        w.run_until(at).await;
        w.engine().busy_until(&id, at);
    }
    w.run_until(clock("10:36:59")).await;
    assert_eq!(w.state(&id).await, State::Running);
    w.run_until(clock("10:40:00")).await;
    stopped_at(&w, &id, Cause::Idle, clock("10:37:00")).await;
}

#[tokio::test]
async fn a_failed_question_counts_as_activity_and_is_asked_again_soon() {
    let mut w = World::new(&[1]).await;
    w.engine().trouble(Call::Stats, Trouble::Refuse(Error::new(Cause::Unavailable, "no answer")));
    let id = w.rent(&with(Rules { idle: Some(Span::from_secs(600)), ..Rules::OFF })).await;
    w.settle().await;
    w.run_until(clock("10:09:00")).await;
    for _ in 0..3 {
        w.engine().trouble(Call::Stats, Trouble::Refuse(Error::new(Cause::Unavailable, "no answer")));
    }
    w.run_until(clock("10:10:14")).await;
    assert_eq!(w.state(&id).await, State::Running, "nobody loses a run because nobody answered");
    w.run_until(clock("10:11:00")).await;
    stopped_at(&w, &id, Cause::Idle, clock("10:10:15")).await;
}

#[tokio::test]
async fn a_timer_does_not_wait_for_a_failed_question() {
    let mut w = World::new(&[1]).await;
    let rules = Rules { idle: Some(Span::from_secs(600)), after: Some(Span::from_secs(602)), ..Rules::OFF };
    let id = w.run(&with(rules)).await;
    for _ in 0..4 {
        w.engine().trouble(Call::Stats, Trouble::Refuse(Error::new(Cause::Unavailable, "no answer")));
    }
    w.run_until(clock("10:11:00")).await;
    stopped_at(&w, &id, Cause::Timer, clock("10:10:02")).await;
}

#[tokio::test]
async fn timers_fire_at_their_instant() {
    let mut w = World::new(&[2]).await;
    let after = w.run(&with(Rules { after: Some(Span::from_secs(90)), ..Rules::OFF })).await;
    let at = w.run(&with(Rules { at: Some(clock("10:05:00")), ..Rules::OFF })).await;
    w.run_until(clock("10:10:00")).await;
    assert!(stopped_at(&w, &after, Cause::Timer, clock("10:01:30")).await.contains("1m30s"));
    assert!(stopped_at(&w, &at, Cause::Timer, clock("10:05:00")).await.contains("2026-03-01 10:05:00Z"));
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_budget_stops_within_a_second_of_its_rate_over_all_runs() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&with(Rules { budget: Some(money("0.1005")), ..Rules::OFF })).await;
    w.run_until(clock("10:00:40")).await;
    w.stop(&id).await;
    w.catch_up().await;
    w.start(&id).await;
    w.run_until(clock("10:10:00")).await;
    let why = stopped_at(&w, &id, Cause::BudgetSpent, TEN.after(Span::from_millis(100_500))).await;
    assert!(why.contains("0.1005"), "{why}");
    assert_eq!(w.charged().await, money("0.1005"));
    w.check_at_peace().await;
}

#[tokio::test]
async fn lost_time_does_not_use_up_a_budget() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&with(Rules { budget: Some(money("0.10")), ..Rules::OFF })).await;
    w.run_until(clock("10:00:40")).await;
    w.engine().go_dark();
    w.clock.set(clock("10:01:10"));
    w.engine().wake(false);
    w.run_until(clock("10:10:00")).await;
    stopped_at(&w, &id, Cause::BudgetSpent, clock("10:02:10")).await;
    assert_eq!(w.charged().await, money("0.10"));
    w.check_at_peace().await;
}

/// A rule that is changed while the instance runs is the one that stops it; the run goes on.
#[tokio::test]
async fn a_changed_rule_is_the_one_that_stops_it() {
    let mut w = World::new(&[4]).await;
    let hour = Rules { after: Some(Span::from_secs(3_600)), ..Rules::OFF };
    let [sooner, later, budget, idle] = [
        w.run(&with(hour)).await,
        w.run(&with(hour)).await,
        w.run(&with(Rules::OFF)).await,
        w.run(&with(Rules::OFF)).await,
    ];
    w.run_until(clock("10:01:00")).await;
    w.set_rules(&sooner, Rules { after: Some(Span::from_secs(120)), ..Rules::OFF }, None).await;
    w.set_rules(&later, Rules { at: Some(clock("11:30:00")), ..Rules::OFF }, None).await;
    w.set_rules(&budget, Rules { budget: Some(money("0.10")), ..Rules::OFF }, None).await;
    w.set_rules(&idle, Rules { idle: Some(Span::from_secs(300)), ..Rules::OFF }, None).await;
    w.run_until(clock("11:10:00")).await;
    stopped_at(&w, &sooner, Cause::Timer, clock("10:02:00")).await;
    stopped_at(&w, &budget, Cause::BudgetSpent, clock("10:01:40")).await;
    stopped_at(&w, &idle, Cause::Idle, clock("10:05:00")).await;
    assert_eq!(w.state(&later).await, State::Running);
    w.run_until(clock("11:40:00")).await;
    stopped_at(&w, &later, Cause::Timer, clock("11:30:00")).await;
    assert_eq!(w.get(&later).await.generation, 1);
    let told = w.events_of(later.as_str(), "rules-changed").await;
    assert_eq!((told.len(), told[0].message.as_str()), (1, "stop rules changed by renter"));
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_snooze_holds_the_rules_off_but_not_the_budget() {
    let mut w = World::new(&[2]).await;
    let rules = Rules { after: Some(Span::from_secs(600)), budget: Some(money("1.20")), ..Rules::OFF };
    let (timer, budget) = (w.run(&with(rules)).await, w.run(&with(rules)).await);
    w.run_until(clock("10:09:00")).await;
    w.set_rules(&timer, rules, Some(clock("10:15:00"))).await;
    w.set_rules(&budget, rules, Some(clock("11:00:00"))).await;
    w.run_until(clock("10:14:59")).await;
    assert_eq!((w.state(&timer).await, w.state(&budget).await), (State::Running, State::Running));
    w.run_until(clock("11:10:00")).await;
    stopped_at(&w, &timer, Cause::Timer, clock("10:15:00")).await;
    stopped_at(&w, &budget, Cause::BudgetSpent, clock("10:20:00")).await;
    // The next run begins without it.
    w.start(&timer).await;
    assert_eq!(w.get(&timer).await.snoozed_until, None);
    w.check().await;
}
