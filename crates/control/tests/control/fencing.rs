//! Two servers, slow steps, wishes in between: results that are late are dropped.

use base::{InstanceId, Span};
use control::testing::{Call, Trouble};
use control::worker;
use domain::instance::State;
use store::lease::{Kind, LEASE, Lease};

use crate::world::{World, clock, money, want};

/// Begins a step that hangs in an engine call, and waits until it does.
async fn hang(w: &World, call: Call, span: Span) -> tokio::task::JoinHandle<bool> {
    w.engine().trouble(call, Trouble::Slow(span));
    let mut calls = w.engine().calls();
    let before = calls.borrow().iter().filter(|c| **c == call).count();
    let leases = worker::claim(&w.control, Kind::Instances, 1).await.unwrap();
    let (control, lease): (_, Lease) = (w.control.clone(), leases[0].clone());
    let step = tokio::spawn(async move { worker::step(&control, Kind::Instances, &lease).await });
    calls.wait_for(|all| all.iter().filter(|c| **c == call).count() > before).await.unwrap();
    step
}

async fn one_step(w: &World) {
    for lease in worker::claim(&w.control, Kind::Instances, 1).await.unwrap() {
        worker::step(&w.control, Kind::Instances, &lease).await;
    }
}

/// An instance that is `creating`, and whose next step has not begun.
async fn creating(w: &mut World) -> InstanceId {
    let id = w.rent(&want("3.60")).await;
    one_step(w).await;
    assert_eq!(w.state(&id).await, State::Creating);
    id
}

/// This much longer than a lease lasts.
fn longer(secs: i64) -> Span {
    Span::from_micros(LEASE.micros() + Span::from_secs(secs).micros())
}

fn dropped(w: &World) -> u64 {
    w.control.metrics.counts().lost_leases.get("instances").copied().unwrap_or(0)
}

#[tokio::test]
async fn a_step_that_was_taken_over_drops_its_result() {
    let mut w = World::new(&[1]).await;
    let id = creating(&mut w).await;
    let slow = hang(&w, Call::Create, longer(5)).await;
    w.clock.advance(longer(1));
    w.settle().await;
    assert_eq!(w.state(&id).await, State::Running, "another claimer finished it");
    let before = w.get(&id).await;
    w.clock.advance(Span::from_secs(5));
    slow.await.unwrap();
    assert_eq!(dropped(&w), 1);
    assert_eq!(w.get(&id).await, before, "the late result changed nothing");
    w.stop(&id).await;
    w.catch_up().await;
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_step_of_an_older_generation_neither_applies_nor_delays() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.60")).await;
    w.stop(&id).await;
    w.settle().await;
    // A step at rest is under way when the start comes.
    let (nudged, now) = (id.clone(), w.now());
    w.store
        .write(move |tx| {
            let id = nudged.clone();
            Box::pin(async move { store::instances::nudge(tx, &id, now).await })
        })
        .await
        .unwrap();
    let old = worker::claim(&w.control, Kind::Instances, 1).await.unwrap().remove(0);
    w.start(&id).await;
    w.settle().await;
    assert_eq!(w.state(&id).await, State::Running, "the start did not wait for the old lease");
    worker::step(&w.control, Kind::Instances, &old).await;
    assert_eq!(dropped(&w), 1);
    assert_eq!(w.state(&id).await, State::Running);
    w.check_at_peace().await;
}

#[tokio::test]
async fn no_order_goes_out_under_a_lost_lease() {
    let mut w = World::new(&[1]).await;
    let id = creating(&mut w).await;
    let stale = worker::claim(&w.control, Kind::Instances, 1).await.unwrap().remove(0);
    w.clock.advance(longer(1));
    let fresh = worker::claim(&w.control, Kind::Instances, 1).await.unwrap().remove(0);
    let orders = w.engine().calls();
    let before = orders.borrow().len();
    worker::step(&w.control, Kind::Instances, &stale).await;
    assert_eq!(orders.borrow().len(), before, "the stale holder gave no order");
    assert_eq!(dropped(&w), 1);
    worker::step(&w.control, Kind::Instances, &fresh).await;
    assert_eq!(w.state(&id).await, State::Starting);
}

#[tokio::test]
async fn a_stop_during_a_start_is_not_slept_over() {
    let mut w = World::new(&[1]).await;
    let id = creating(&mut w).await;
    one_step(&w).await;
    let slow = hang(&w, Call::Start, Span::from_secs(2)).await;
    w.stop(&id).await;
    w.clock.advance(Span::from_secs(2));
    slow.await.unwrap();
    assert_eq!(w.state(&id).await, State::Stopping);
    w.settle().await;
    assert_eq!(w.state(&id).await, State::Stopped);
    assert_eq!((w.charged().await, w.segments(&id).await.len()), (money("0"), 0));
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_wish_during_a_step_that_would_sleep_makes_it_due_at_once() {
    let mut w = World::new(&[1]).await;
    let rules = domain::rules::Rules { idle: Some(Span::from_hours(2)), ..domain::rules::Rules::OFF };
    let id = w.rent(&crate::world::Want { rules, ..want("3.60") }).await;
    for _ in 0..3 {
        one_step(&w).await;
    }
    assert_eq!(w.state(&id).await, State::Running);
    // The step asks about activity and would then sleep for two hours.
    let slow = hang(&w, Call::Stats, Span::from_secs(3)).await;
    w.clock.advance(Span::from_secs(1));
    w.stop(&id).await;
    w.clock.advance(Span::from_secs(2));
    slow.await.unwrap();
    assert_eq!(w.get(&id).await.due_at, Some(clock("10:00:03")));
    w.settle().await;
    assert_eq!(w.state(&id).await, State::Stopped);
    assert_eq!(w.segments(&id).await[0].to, Some(clock("10:00:01")));
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_release_during_a_stop_is_carried_out_after_it() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.60")).await;
    w.stop(&id).await;
    one_step(&w).await;
    assert_eq!(w.state(&id).await, State::Stopping);
    let slow = hang(&w, Call::Stop, Span::from_secs(2)).await;
    w.release(&id).await;
    w.clock.advance(Span::from_secs(2));
    slow.await.unwrap();
    w.settle().await;
    assert_eq!(w.state(&id).await, State::Released);
    assert!(w.engine().truth().is_empty());
    w.check_at_peace().await;
}

/// The loop as the server runs it, with its own sleeping and waking.
#[tokio::test]
async fn the_loops_carry_a_life_by_themselves() {
    let mut w = World::new(&[1]).await;
    let loops: Vec<_> = Kind::ALL.map(|kind| tokio::spawn(worker::run(w.control.clone(), kind))).into();
    let numbering = tokio::spawn(control::events::run(w.control.clone()));
    let mut written = w.store.watch();
    let id = w.rent(&want("3.60")).await;
    while w.state(&id).await != State::Running {
        written.changed().await.unwrap();
    }
    w.clock.advance(Span::from_secs(10));
    w.hear().await;
    w.release(&id).await;
    while w.state(&id).await != State::Released || w.charged().await != money("0.01") {
        written.changed().await.unwrap();
    }
    loop {
        let mut db = w.store.read().await.unwrap();
        if !store::events::any_unsequenced(&mut db).await.unwrap() {
            break;
        }
        drop(db);
        written.changed().await.unwrap();
    }
    for task in loops.into_iter().chain([numbering]) {
        task.abort();
    }
    w.check_at_peace().await;
}
