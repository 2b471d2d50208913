//! The money ladder.

use base::{Cause, Span};
use domain::instance::State;
use store::events::Event;

use crate::world::{TEN, World, clock, money, want};

async fn ladder(w: &World) -> Vec<Event> {
    let mut all = w.events().await;
    all.retain(|e| e.kind.starts_with("money-"));
    all
}

fn hours(h: i64) -> base::Timestamp {
    TEN.after(Span::from_hours(h))
}

#[tokio::test]
async fn each_rung_is_told_once_and_in_order() {
    let mut w = World::with_money(&[2], "90").await;
    let (a, b) = (w.run(&want("1")).await, w.run(&want("2")).await);
    w.run_until(hours(40)).await;
    let told: Vec<_> = ladder(&w).await.into_iter().map(|e| (e.kind, e.at)).collect();
    let forecast = "money-forecast".to_owned();
    let want = [(forecast.clone(), hours(6)), (forecast, hours(28)), ("money-ended".into(), hours(30))];
    assert_eq!(told, want);
    for id in [a, b] {
        assert_eq!(w.get(&id).await.reason.unwrap().cause, Cause::MoneyEnded);
    }
    assert_eq!(w.account().await.balance, money("0"));
    w.check_at_peace().await;
}

#[tokio::test]
async fn looking_again_at_any_moment_tells_nothing_twice() {
    let mut w = World::with_money(&[3], "0.90").await;
    // A micro-unit lasts a third of a second here, so rounding is at its coarsest.
    for rate in ["0.011", "0.007", "0.013"] {
        w.run(&want(rate)).await;
    }
    let ends = w.account().await.due_at.unwrap().after(Span::from_hours(24));
    let around = [Span::from_hours(24), Span::from_hours(2)];
    for lead in around {
        w.run_until(ends.before(lead).before(Span::from_secs(1))).await;
        for _ in 0..300 {
            w.clock.advance(Span::from_micros(7_333));
            let (account, now) = (w.account.clone(), w.now());
            w.store
                .write(move |tx| {
                    let account = account.clone();
                    Box::pin(async move { store::accounts::nudge(tx, &account, now).await })
                })
                .await
                .unwrap();
            w.settle().await;
        }
    }
    w.run_until(ends.after(Span::from_hours(1))).await;
    let kinds: Vec<_> = ladder(&w).await.into_iter().map(|e| e.kind).collect();
    assert_eq!(kinds, ["money-forecast", "money-forecast", "money-ended"]);
}

#[tokio::test]
async fn a_top_up_before_the_end_moves_it() {
    let mut w = World::with_money(&[1], "30").await;
    let id = w.run(&want("1")).await;
    w.run_until(hours(29)).await;
    assert_eq!(ladder(&w).await.len(), 2);
    w.top_up(money("30")).await;
    w.run_until(hours(35)).await;
    assert_eq!(w.state(&id).await, State::Running);
    assert_eq!(ladder(&w).await.len(), 2);
    w.run_until(hours(61)).await;
    let told: Vec<_> = ladder(&w).await.into_iter().map(|e| e.at).collect();
    assert_eq!(told, [hours(6), hours(28), hours(36), hours(58), hours(60)], "each again for the new end");
    assert_eq!(w.segments(&id).await[0].to, Some(hours(60)));
    w.check_at_peace().await;
}

#[tokio::test]
async fn what_becomes_ready_after_the_end_is_stopped_at_once() {
    let mut w = World::with_money(&[2], "3").await;
    let first = w.run(&want("1")).await;
    w.run_until(clock("10:30:00")).await;
    w.engine().trouble(control::testing::Call::Start, control::testing::Trouble::LoseAnswer);
    let second = w.rent(&want("1")).await;
    w.settle().await;
    assert_eq!(w.state(&second).await, State::Starting);
    // The server sleeps through the end of the money.
    w.clock.set(clock("15:00:00"));
    w.settle().await;
    w.run_until(clock("15:10:00")).await;
    assert_eq!(w.state(&first).await, State::Stopped);
    assert!(w.state(&second).await.is_at_rest());
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_standing_is_what_is_left_and_when_it_ends() {
    let mut w = World::with_money(&[2], "10").await;
    w.run(&want("1")).await;
    w.run(&want("3")).await;
    w.run_until(clock("11:00:00")).await;
    let unsettled = {
        let mut db = w.store.read().await.unwrap();
        store::segments::unsettled_of(&mut db, &w.account).await.unwrap()
    };
    let standing = control::account::standing(w.account().await.balance, &unsettled, w.now()).unwrap();
    assert_eq!((standing.left, standing.used, standing.burn), (money("6"), money("4"), "4".parse().unwrap()));
    assert_eq!(standing.ends, Some(clock("12:30:00")));
}
