//! An instance from rent to release.

use base::Cause;
use domain::instance::State;

use crate::world::{TEN, World, clock, money, want};

#[tokio::test]
async fn a_whole_life_is_billed_to_the_micro_unit() {
    live(World::new(&[2]).await).await;
}

#[tokio::test]
async fn a_whole_life_on_postgres_is_billed_the_same() {
    if let Some(w) = World::on_postgres(&[2], "1000000").await {
        live(w).await.end().await;
    }
}

async fn live(mut w: World) -> World {
    let id = w.run(&want("3.20")).await;
    assert_eq!(w.held_cards().await, 1);
    assert_eq!(w.account().await.held, money("3.20"));
    assert_eq!(w.get(&id).await.ready_at, Some(TEN));
    w.run_until(clock("11:23:45")).await;
    w.check().await;
    assert_eq!(w.charged().await, money("0"), "posted when the segment closes");
    w.stop(&id).await;
    w.settle().await;
    assert_eq!(w.state(&id).await, State::Stopped);
    assert_eq!(w.get(&id).await.reason.unwrap().cause, Cause::ByRenter);
    assert_eq!((w.held_cards().await, w.account().await.held), (0, money("0")));
    w.run_until(clock("12:00:00")).await;
    w.start(&id).await;
    w.settle().await;
    assert_eq!((w.state(&id).await, w.get(&id).await.generation), (State::Running, 2));
    w.run_until(clock("13:00:00")).await;
    w.release(&id).await;
    w.settle().await;
    w.catch_up().await;
    let gone = w.get(&id).await;
    assert_eq!((gone.state, gone.released_at), (State::Released, Some(clock("13:00:00"))));
    let run = ["creating", "starting", "running", "stopping"];
    let path = [&["requested"], &run[..], &["stopped", "requested"], &run[..], &["releasing", "released"]].concat();
    assert_eq!(w.path(&id).await, path);
    assert_eq!(w.charged().await, money("7.666666"));
    let segments = w.segments(&id).await;
    assert_eq!(segments.len(), 2);
    assert!(segments.iter().all(|s| s.devices == ["S0"] && s.due_at.is_none()));
    assert!(w.engine().truth().is_empty(), "its data are gone");
    w.check_at_peace().await;
    w
}

#[tokio::test]
async fn lost_time_late_proofs_and_the_end_of_the_money_are_the_same_on_postgres() {
    let Some(mut w) = World::on_postgres(&[3], "3.66").await else {
        return;
    };
    let (dies, dark) = (w.run(&want("0.36")).await, w.run(&want("0.36")).await);
    w.run_until(clock("10:10:00")).await;
    w.engine().kill(&dies);
    w.run_until(clock("10:20:00")).await;
    w.engine().go_dark();
    w.run_until(clock("10:30:00")).await;
    w.engine().wake(false);
    w.run_until(clock("10:40:00")).await;
    w.stop(&dark).await;
    w.catch_up().await;
    assert_eq!(w.charged().await, money("0.24"), "ten minutes, and thirty of forty");
    let last = w.run(&want("3.42")).await;
    w.run_until(clock("12:00:00")).await;
    assert_eq!(w.get(&last).await.reason.unwrap().cause, Cause::MoneyEnded);
    assert_eq!(w.segments(&last).await[0].to, Some(clock("11:40:00")));
    assert_eq!((w.state(&dies).await, w.account().await.balance), (State::Lost, money("0")));
    w.check_at_peace().await;
    w.end().await;
}
