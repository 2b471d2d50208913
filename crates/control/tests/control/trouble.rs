//! What goes wrong at a start or a stop, and what is left afterwards: nothing.

use base::{Cause, Error, Span};
use control::testing::{Call, Trouble};
use domain::instance::State;

use crate::world::{Want, World, clock, money, want};

/// Failed for that reason, told so, and nothing kept or billed.
async fn failed_with(w: &World, id: &base::InstanceId, cause: Cause) {
    let instance = w.get(id).await;
    let reason = instance.reason.unwrap();
    assert_eq!((instance.state, reason.cause), (State::Failed, cause), "{}", reason.message);
    assert_eq!(w.account().await.held, money("0"));
    assert_eq!(w.held_cards().await, 0);
    assert_eq!(w.charged().await, money("0"));
    assert!(w.engine().truth().is_empty(), "the machine kept something");
    let told = w.events_of(id.as_str(), "state-changed").await;
    assert!(told.iter().any(|e| e.data["to"] == "failed" && e.data["cause"] == cause.code()));
    w.check_at_peace().await;
}

#[tokio::test]
async fn two_race_for_the_last_card_and_the_loser_is_told_why() {
    let mut w = World::new(&[1]).await;
    let (a, b) = (w.rent(&want("1")).await, w.rent(&want("1")).await);
    w.settle().await;
    assert_eq!(w.state(&a).await, State::Running);
    let lost = w.get(&b).await;
    let reason = lost.reason.unwrap();
    assert_eq!((lost.state, reason.cause), (State::Failed, Cause::NoCapacity));
    assert_eq!(reason.message, "0 of 1 × a100-sxm4-40g are free now");
    assert!(reason.hint.is_some());
    assert_eq!(w.account().await.held, money("1"));
    w.check_at_peace().await;
    w.release(&a).await;
    w.start(&b).await;
    w.settle().await;
    w.start(&b).await;
    w.settle().await;
    assert_eq!(w.state(&b).await, State::Running, "the card went back to stock");
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_race_at_the_very_moment_of_taking_is_lost_cleanly() {
    let mut w = World::new(&[1]).await;
    let (a, b) = (w.rent(&want("1")).await, w.rent(&want("1")).await);
    // Both steps see the free card, as two servers would.
    let other = control::Control::new(w.store.clone(), w.clock.clone());
    other.engines.set(w.machines[0].id.clone(), w.engine());
    let leases = control::worker::claim(&w.control, store::lease::Kind::Instances, 2).await.unwrap();
    let kind = store::lease::Kind::Instances;
    tokio::join!(control::worker::step(&w.control, kind, &leases[0]), control::worker::step(&other, kind, &leases[1]),);
    assert_eq!(w.held_cards().await, 1);
    w.settle().await;
    let mut states = [w.state(&a).await, w.state(&b).await];
    states.sort();
    assert_eq!(states, [State::Running, State::Failed]);
    w.check_at_peace().await;
}

#[tokio::test]
async fn more_than_exist_is_said_to_be_more_than_exist() {
    let mut w = World::new(&[2, 1]).await;
    let id = w.rent(&Want { count: 3, ..want("1") }).await;
    w.settle().await;
    failed_with(&w, &id, Cause::MoreThanExist).await;
    assert!(w.get(&id).await.reason.unwrap().message.contains("the largest machine has 2"));
}

#[tokio::test]
async fn a_full_disk_leaves_nothing_behind() {
    let mut w = World::new(&[1]).await;
    let full = Error::new(Cause::DiskFull, "no room on the disk").hint("ask the operator to make room");
    w.engine().trouble(Call::Create, Trouble::Refuse(full));
    let id = w.rent(&want("1")).await;
    w.settle().await;
    failed_with(&w, &id, Cause::DiskFull).await;
    assert_eq!(w.path(&id).await, ["requested", "creating", "stopping", "failed"]);
    assert_eq!(w.get(&id).await.reason.unwrap().hint.as_deref(), Some("ask the operator to make room"));
    w.start(&id).await;
    w.settle().await;
    assert_eq!(w.state(&id).await, State::Running, "the next try may succeed");
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_refused_start_fails_with_the_engines_cause() {
    for cause in [Cause::EngineFailed, Cause::NotReadyInTime, Cause::InitDied, Cause::HostIncomplete] {
        let mut w = World::new(&[1]).await;
        w.engine().trouble(Call::Start, Trouble::Refuse(Error::new(cause, "it did not start")));
        let id = w.rent(&want("1")).await;
        w.settle().await;
        failed_with(&w, &id, cause).await;
    }
}

#[tokio::test]
async fn lost_answers_change_nothing_but_the_time() {
    for call in [Call::Create, Call::Start, Call::Stop, Call::Delete] {
        let mut w = World::new(&[1]).await;
        w.engine().trouble(call, Trouble::LoseAnswer);
        let id = w.rent(&want("3.60")).await;
        w.run_for(Span::from_secs(100)).await;
        assert_eq!(w.state(&id).await, State::Running);
        let ready = w.get(&id).await.ready_at.unwrap();
        w.stop(&id).await;
        w.run_for(Span::from_secs(10)).await;
        w.release(&id).await;
        w.run_for(Span::from_secs(10)).await;
        assert_eq!(w.state(&id).await, State::Released, "{call:?}");
        assert_eq!(w.engine().runs().len(), 1, "{call:?}: it ran once");
        assert_eq!(w.engine().runs()[0].ready_at, ready);
        let paid = want("3.60").rate.charge(clock("10:01:40").since(ready).millis()).unwrap();
        assert_eq!(w.charged().await, paid, "{call:?}");
        w.check_at_peace().await;
    }
}

#[tokio::test]
async fn a_machine_that_does_not_answer_in_time_fails_the_start() {
    let mut w = World::new(&[1]).await;
    w.engine().set_reachable(false);
    let id = w.rent(&want("1")).await;
    w.run_for(Span::from_secs(90)).await;
    assert_eq!(w.state(&id).await, State::Stopping, "its machine may have made it: the card is kept");
    assert_eq!(w.held_cards().await, 1);
    w.run_for(Span::from_secs(60)).await;
    assert_eq!(w.incidents("stuck-state").await.len(), 1);
    w.engine().set_reachable(true);
    w.run_for(Span::from_secs(30)).await;
    failed_with(&w, &id, Cause::Unavailable).await;
    assert!(w.incidents("stuck-state").await[0].closed_at.is_some());
}

#[tokio::test]
async fn a_dead_first_process_is_billed_until_that_moment() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.60")).await;
    w.run_until(clock("10:00:33")).await;
    w.engine().kill(&id);
    // It is heard of only later.
    w.clock.set(clock("10:01:00"));
    w.run_until(clock("10:05:00")).await;
    let lost = w.get(&id).await;
    let reason = lost.reason.unwrap();
    assert_eq!((lost.state, reason.cause), (State::Lost, Cause::InitDied));
    assert!(reason.message.contains("2026-03-01T10:00:33Z"), "{}", reason.message);
    assert_eq!(w.charged().await, money("0.033"));
    assert_eq!(w.events_of(id.as_str(), "lost").await.len(), 1);
    w.check_at_peace().await;
    w.start(&id).await;
    w.settle().await;
    assert_eq!(w.state(&id).await, State::Running);
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_reboot_ends_what_ran_at_the_last_proof() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.60")).await;
    w.run_until(clock("10:00:20")).await;
    w.engine().go_dark();
    w.run_until(clock("10:02:00")).await;
    w.engine().wake(true);
    w.catch_up().await;
    let lost = w.get(&id).await;
    assert_eq!((lost.state, lost.reason.unwrap().cause), (State::Lost, Cause::NodeLost));
    assert_eq!(w.charged().await, money("0.02"));
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_stop_before_ready_is_never_billed() {
    let mut w = World::new(&[1]).await;
    w.engine().trouble(Call::Start, Trouble::LoseAnswer);
    let id = w.rent(&want("3.60")).await;
    w.settle().await;
    assert_eq!(w.state(&id).await, State::Starting);
    assert_eq!(w.engine().truth().len(), 1);
    w.stop(&id).await;
    w.run_for(Span::from_secs(5)).await;
    let stopped = w.get(&id).await;
    assert_eq!((stopped.state, stopped.reason.unwrap().cause), (State::Stopped, Cause::ByRenter));
    assert_eq!(w.charged().await, money("0"));
    assert!(w.segments(&id).await.is_empty());
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_stop_before_anything_was_placed_leaves_nothing() {
    let mut w = World::new(&[1]).await;
    let id = w.rent(&want("3.60")).await;
    w.stop(&id).await;
    w.settle().await;
    assert_eq!(w.path(&id).await, ["requested", "stopping", "stopped"]);
    assert!(w.engine().calls().borrow().iter().all(|c| *c == Call::Report), "no order was sent");
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_release_while_creating_removes_everything() {
    let mut w = World::new(&[1]).await;
    w.engine().trouble(Call::Create, Trouble::LoseAnswer);
    let id = w.rent(&want("3.60")).await;
    w.settle().await;
    assert_eq!(w.state(&id).await, State::Creating);
    w.release(&id).await;
    w.run_for(Span::from_secs(5)).await;
    assert_eq!(w.state(&id).await, State::Released);
    assert!(w.engine().truth().is_empty());
    assert_eq!((w.charged().await, w.account().await.held), (money("0"), money("0")));
    assert_eq!(w.try_release(&id).await.unwrap_err().cause(), Cause::WrongState);
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_stop_of_an_unreachable_machine_ends_the_meter_and_keeps_the_cards() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.60")).await;
    w.run_until(clock("10:00:30")).await;
    w.engine().set_reachable(false);
    w.run_until(clock("10:00:50")).await;
    w.stop(&id).await;
    w.run_until(clock("10:10:00")).await;
    assert_eq!(w.state(&id).await, State::Stopping);
    assert_eq!((w.held_cards().await, w.account().await.held), (1, money("3.60")));
    assert_eq!(w.segments(&id).await[0].to, Some(clock("10:00:50")));
    let stuck = w.incidents("stuck-state").await;
    assert_eq!(stuck.len(), 1);
    assert_eq!((stuck[0].opened_at, stuck[0].closed_at), (clock("10:01:50"), None));
    assert_eq!(w.incidents("node-out-of-touch").await.len(), 1);
    let waiting = w.rent(&want("1")).await;
    w.settle().await;
    assert_eq!(w.get(&waiting).await.reason.unwrap().cause, Cause::NoCapacity);
    w.engine().set_reachable(true);
    w.run_until(clock("10:11:00")).await;
    assert_eq!(w.state(&id).await, State::Stopped);
    assert_eq!(w.charged().await, money("0.05"), "its agent kept the proofs");
    assert!(w.incidents("stuck-state").await[0].closed_at.is_some());
    assert!(w.incidents("node-out-of-touch").await[0].closed_at.is_some());
    w.check_at_peace().await;
}

#[tokio::test]
async fn the_exit_of_the_start_command_is_recorded_once() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&Want { on_start: Some("train".into()), ..want("1") }).await;
    w.run_for(Span::from_secs(10)).await;
    w.engine().command_ended(&id, 3);
    w.catch_up().await;
    w.catch_up().await;
    assert_eq!(w.get(&id).await.on_start_exit, Some(3));
    let told = w.events_of(id.as_str(), "command-ended").await;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].data["exit"], 3);
    assert_eq!(w.state(&id).await, State::Running, "its end is no reason to stop");
    w.stop(&id).await;
    w.settle().await;
    w.start(&id).await;
    w.settle().await;
    assert_eq!(w.get(&id).await.on_start_exit, None, "a new run, a new command");
}
