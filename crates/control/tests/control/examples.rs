//! The worked examples of the billing rules that need a clock and a machine.

use base::{Cause, Money, Span, Timestamp};
use billing::guard::overdraft_bound;
use control::worker;
use domain::instance::State;
use domain::rules::Rules;
use engine::{NodeReport, Proof};
use futures_util::FutureExt;
use store::lease::Kind;

use crate::world::{Want, World, clock, money, rate, want};

fn hours(h: i64) -> Span {
    Span::from_hours(h)
}

#[tokio::test]
async fn example_01_a_run_of_5025_seconds() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.20")).await;
    w.run_until(clock("11:23:45")).await;
    w.stop(&id).await;
    w.catch_up().await;
    assert_eq!(w.charged().await.micros(), 4_466_666);
    assert_eq!(w.charged().await.rounded_to_cents(), money("4.47"));
    w.check_at_peace().await;
}

/// A report that proves `[from, to]` and nothing else.
fn proves(from: Timestamp, to: Timestamp) -> NodeReport {
    NodeReport {
        boot_id: "boot-1".into(),
        now: to,
        proofs: vec![Proof { from, to }],
        ended: vec![],
        command_exits: vec![],
        alive: vec![],
        samples: vec![],
        inventory_version: 1,
        clock_step_us: 0,
    }
}

/// A step that ends like a process that is killed: at some await, without a word.
async fn die_during_a_step(w: &World, polls: u32) {
    for lease in worker::claim(&w.control, Kind::Segments, 64).await.unwrap() {
        let mut step = Box::pin(worker::step(&w.control, Kind::Segments, &lease));
        for _ in 0..polls {
            if (&mut step).now_or_never().is_some() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn example_02_the_same_settled_every_7_seconds_and_after_three_crashes() {
    let mut w = World::new(&[1]).await;
    let node = w.machines[0].id.clone();
    let id = w.run(&want("3.20")).await;
    let (ready, end) = (w.now(), clock("11:23:45"));
    // The stop is accepted while the agent is out of touch; what it kept then
    // arrives in pieces of seven seconds.
    w.engine().set_reachable(false);
    w.clock.set(end);
    w.stop(&id).await;
    let (mut proven, mut pieces) = (ready, 0);
    while proven < end {
        let to = proven.after(Span::from_secs(7));
        control::node::apply(&w.control, &node, &proves(proven, to)).await.unwrap();
        proven = to;
        pieces += 1;
        // A segment that waits looks again after half a minute.
        w.clock.advance(Span::from_secs(30));
        if [100, 300, 500].contains(&pieces) {
            die_during_a_step(&w, pieces / 100).await;
            w.clock.advance(Span::from_secs(31));
        }
        for lease in worker::claim(&w.control, Kind::Segments, 64).await.unwrap() {
            worker::step(&w.control, Kind::Segments, &lease).await;
        }
    }
    assert_eq!(pieces, 718);
    let mut db = w.store.read().await.unwrap();
    let far = Timestamp::from_micros(i64::MAX);
    let postings = store::postings::of_account(&mut db, &w.account, Timestamp::EPOCH, far).await.unwrap();
    drop(db);
    assert!(postings.len() > 700, "it was settled in {} steps", postings.len());
    assert_eq!(w.charged().await.micros(), 4_466_666);
    w.engine().set_reachable(true);
    w.run_for(Span::from_secs(60)).await;
    assert_eq!(w.charged().await.micros(), 4_466_666);
    w.check_at_peace().await;
}

#[tokio::test]
async fn example_05_eight_hours_a_day_for_30_days() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("1.50")).await;
    for day in 0..30 {
        if day > 0 {
            w.start(&id).await;
            w.settle().await;
        }
        w.run_for(hours(8)).await;
        w.stop(&id).await;
        w.catch_up().await;
        w.run_for(hours(16)).await;
    }
    assert_eq!(w.charged().await, money("360"));
    w.check_at_peace().await;
}

#[tokio::test]
async fn example_06_the_same_without_stopping() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("1.50")).await;
    w.run_for(hours(720)).await;
    w.stop(&id).await;
    w.catch_up().await;
    assert_eq!(w.charged().await, money("1080"));
    w.check_at_peace().await;
}

#[tokio::test]
async fn example_06_with_an_idle_rule_of_two_hours() {
    let mut w = World::new(&[1]).await;
    let rules = Rules { idle: Some(hours(2)), ..Rules::OFF };
    let id = w.run(&Want { rules, ..want("1.50") }).await;
    for day in 0..30 {
        if day > 0 {
            w.start(&id).await;
            w.settle().await;
        }
        let began = w.now();
        w.engine().busy_until(&id, began.after(hours(8)));
        w.run_for(hours(24)).await;
        let stopped = w.get(&id).await;
        assert_eq!((stopped.state, stopped.reason.unwrap().cause), (State::Stopped, Cause::Idle));
        let last = w.segments(&id).await.pop().unwrap();
        assert_eq!((last.from, last.to), (began, Some(began.after(hours(10)))));
    }
    assert_eq!(w.charged().await, money("450"));
    w.check_at_peace().await;
}

#[tokio::test]
async fn example_08_a_node_lost_for_half_an_hour() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.20")).await;
    w.run_until(clock("10:20:00")).await;
    w.engine().go_dark();
    w.run_until(clock("10:50:00")).await;
    assert_eq!(w.node_state().await, "lost");
    w.engine().wake(false);
    w.catch_up().await;
    assert_eq!(w.node_state().await, "ready");
    w.run_until(clock("11:00:00")).await;
    w.stop(&id).await;
    w.catch_up().await;
    // Each piece is rounded down by itself: 1.066666 + 0.533333.
    assert_eq!(w.charged().await.micros(), 1_599_999);
    assert_eq!(w.charged().await.rounded_to_cents(), money("1.60"));
    let gaps = w.gaps().await;
    assert_eq!(gaps.len(), 1);
    assert_eq!((gaps[0].from, gaps[0].to), (clock("10:20:00"), clock("10:50:00")));
    let told = w.events_of(id.as_str(), "time-lost").await;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].data["from"], "2026-03-01T10:20:00Z");
    let pieces: Vec<_> = w.segments(&id).await.into_iter().map(|s| (s.from, s.to, s.closed_by)).collect();
    assert_eq!(
        pieces,
        [
            (clock("10:00:00"), Some(clock("10:20:00")), Some("node-lost".into())),
            (clock("10:50:00"), Some(clock("11:00:00")), Some("by-renter".into())),
        ]
    );
    w.check_at_peace().await;
}

#[tokio::test]
async fn example_14_the_money_ends_at_half_past_two() {
    let mut w = World::with_money(&[1], "10").await;
    let (began, id) = (w.now(), w.run(&want("4.00")).await);
    w.run_for(hours(24)).await;
    let stopped = w.get(&id).await;
    let reason = stopped.reason.unwrap();
    assert_eq!((stopped.state, reason.cause), (State::Stopped, Cause::MoneyEnded));
    assert!(reason.hint.is_some());
    assert_eq!(w.segments(&id).await[0].to, Some(began.after(Span::from_secs(9_000))));
    assert_eq!(w.account().await.balance, Money::ZERO);
    assert_eq!(w.try_start(&id).await.unwrap_err().cause(), Cause::NotEnoughFunds);
    w.check_at_peace().await;
}

#[tokio::test]
async fn example_14_the_overdraft_is_bounded_by_the_reaction() {
    for reaction in [0, 1, 999, 45_000] {
        let mut w = World::with_money(&[1], "10").await;
        let (began, id) = (w.now(), w.run(&want("4.00")).await);
        w.run_for(hours(2)).await;
        let reaction = Span::from_millis(reaction);
        w.clock.set(began.after(Span::from_secs(9_000)).after(reaction));
        w.settle().await;
        w.catch_up().await;
        assert_eq!(w.state(&id).await, State::Stopped);
        let below = Money::ZERO.minus(w.account().await.balance).unwrap();
        assert_eq!(below, rate("4.00").charge(reaction.millis()).unwrap());
        assert!(below <= overdraft_bound(rate("4.00"), reaction).unwrap());
        w.check_at_peace().await;
    }
}
