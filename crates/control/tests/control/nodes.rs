//! Evidence: what a machine proves, late or never, and what it shows besides.

use base::{Cause, Span};
use control::Clock;
use control::testing::SimEngine;
use domain::instance::State;
use engine::Engine;
use store::nodes;

use crate::world::{World, clock, money, want};

#[tokio::test]
async fn late_evidence_within_a_day_counts_in_full() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.60")).await;
    w.run_for(Span::from_secs(60)).await;
    w.engine().set_reachable(false);
    w.clock.advance(Span::from_hours(23));
    w.stop(&id).await;
    w.settle().await;
    assert_eq!(w.charged().await, money("0.06"), "only what is proven");
    w.engine().set_reachable(true);
    w.run_for(Span::from_secs(60)).await;
    assert_eq!(w.charged().await, money("82.86"));
    assert!(w.gaps().await.is_empty());
    w.check_at_peace().await;
}

#[tokio::test]
async fn evidence_of_a_closed_segment_after_a_day_never_counts() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.60")).await;
    w.run_for(Span::from_secs(60)).await;
    w.engine().set_reachable(false);
    w.clock.advance(Span::from_secs(3_540));
    w.stop(&id).await;
    w.settle().await;
    w.clock.advance(Span::from_hours(24));
    w.clock.advance(Span::from_millis(1));
    w.settle().await;
    let never = w.incidents("evidence-never-came").await;
    assert_eq!(never.len(), 1);
    let segment = w.segments(&id).await.remove(0);
    assert_eq!((segment.to, segment.closed_by.as_deref()), (Some(clock("10:01:00")), Some("never-proven")));
    w.engine().set_reachable(true);
    w.run_for(Span::from_secs(60)).await;
    assert_eq!(w.charged().await, money("0.06"));
    w.check_at_peace().await;
}

#[tokio::test]
async fn of_a_running_instance_only_the_last_day_of_late_evidence_counts() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.60")).await;
    w.run_for(Span::from_secs(3_600)).await;
    w.engine().set_reachable(false);
    w.clock.advance(Span::from_hours(30));
    w.engine().set_reachable(true);
    w.catch_up().await;
    assert_eq!(w.gaps().await[0].why, "its proof came more than 24 hours late");
    w.stop(&id).await;
    w.catch_up().await;
    assert_eq!(w.charged().await, money("90"), "one hour before, 24 hours of the 30");
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_stop_in_the_dark_is_billed_to_the_last_proof() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.60")).await;
    w.run_until(clock("10:10:00")).await;
    w.engine().go_dark();
    w.run_until(clock("10:20:00")).await;
    w.stop(&id).await;
    w.run_until(clock("10:30:00")).await;
    w.engine().wake(false);
    w.run_until(clock("10:40:00")).await;
    assert_eq!(w.state(&id).await, State::Stopped);
    assert_eq!(w.charged().await, money("0.60"));
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_stop_after_the_dark_but_before_it_was_heard_of_loses_only_the_dark() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.60")).await;
    w.run_until(clock("10:10:00")).await;
    w.engine().go_dark();
    w.run_until(clock("10:20:00")).await;
    w.engine().wake(false);
    w.engine().set_reachable(false);
    w.run_until(clock("10:30:00")).await;
    w.stop(&id).await;
    w.engine().set_reachable(true);
    w.run_until(clock("10:31:00")).await;
    assert_eq!(w.charged().await, money("1.20"));
    let pieces: Vec<_> = w.segments(&id).await.into_iter().map(|s| (s.from, s.to)).collect();
    assert_eq!(pieces, [(clock("10:00:00"), Some(clock("10:10:00"))), (clock("10:20:00"), Some(clock("10:30:00")))]);
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_death_noticed_late_still_ends_the_bill_at_the_death() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.60")).await;
    w.run_until(clock("10:00:10")).await;
    w.engine().set_reachable(false);
    w.run_until(clock("10:00:20")).await;
    w.engine().kill(&id);
    w.run_until(clock("10:00:40")).await;
    w.stop(&id).await;
    w.run_until(clock("10:00:50")).await;
    w.engine().set_reachable(true);
    w.run_until(clock("10:02:00")).await;
    assert_eq!(w.charged().await, money("0.02"));
    assert_eq!(w.state(&id).await, State::Stopped, "its renter's wish came first");
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_death_of_an_older_run_shortens_its_bill_after_the_next_start() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.60")).await;
    w.run_until(clock("10:00:10")).await;
    w.clock.set(clock("10:00:20"));
    w.engine().kill(&id);
    // The death is not heard of: stop, rest and start again come first.
    w.clock.set(clock("10:00:40"));
    w.stop(&id).await;
    w.settle().await;
    w.start(&id).await;
    w.settle().await;
    assert_eq!((w.state(&id).await, w.get(&id).await.generation), (State::Running, 2));
    w.run_until(clock("10:01:00")).await;
    assert_eq!(w.state(&id).await, State::Running, "the new run is not lost by the old one's end");
    assert_eq!(w.charged().await, money("0.02"));
    w.stop(&id).await;
    w.catch_up().await;
    assert_eq!(w.charged().await, money("0.04"));
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_hole_heard_of_before_ready_was_written_is_not_billed() {
    let mut w = World::new(&[1]).await;
    let answer = control::testing::Trouble::LoseAnswer;
    w.engine().trouble(control::testing::Call::Start, answer);
    let id = w.rent(&want("3.60")).await;
    w.settle().await;
    assert_eq!(w.state(&id).await, State::Starting);
    w.clock.set(clock("10:00:10"));
    w.hear().await;
    w.engine().go_dark();
    w.clock.set(clock("10:00:30"));
    w.engine().wake(false);
    w.hear().await;
    w.run_until(clock("10:01:00")).await;
    assert_eq!(w.state(&id).await, State::Running);
    w.stop(&id).await;
    w.catch_up().await;
    assert_eq!(w.charged().await, money("0.04"), "ten seconds before the hole, thirty after it");
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_clock_step_is_an_incident_and_never_a_charge() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.60")).await;
    w.run_until(clock("10:00:10")).await;
    w.engine().set_clock_step(3_600_000_000);
    w.run_until(clock("10:00:20")).await;
    let steps = w.incidents("clock-step").await;
    assert_eq!(steps.len(), 1);
    assert!(steps[0].closed_at.is_none() && steps[0].detail.contains("1h"), "{}", steps[0].detail);
    w.engine().set_clock_step(0);
    w.run_until(clock("10:00:30")).await;
    assert!(w.incidents("clock-step").await[0].closed_at.is_some());
    w.stop(&id).await;
    w.catch_up().await;
    assert_eq!(w.charged().await, money("0.03"));
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_lost_card_is_an_incident_and_out_of_stock_until_it_answers() {
    let mut w = World::new(&[1]).await;
    w.engine().set_lost("GPU-0", true);
    w.hear().await;
    w.hear().await;
    let lost = w.incidents("device-lost").await;
    assert_eq!(lost.len(), 1);
    assert_eq!((lost[0].subject.as_str(), lost[0].closed_at), ("GPU-0", None));
    let id = w.rent(&want("1")).await;
    w.settle().await;
    assert_eq!(w.state(&id).await, State::Failed);
    // It answers again while its agent is out of touch, which loses what was seen before.
    w.engine().set_reachable(false);
    w.hear().await;
    w.engine().set_lost("GPU-0", false);
    w.engine().set_reachable(true);
    w.hear().await;
    assert!(w.incidents("device-lost").await[0].closed_at.is_some());
    w.start(&id).await;
    w.settle().await;
    assert_eq!(w.state(&id).await, State::Running);
    w.check_at_peace().await;
}

#[tokio::test]
async fn a_change_of_inventory_is_stored_and_does_not_hide_a_lost_card() {
    let mut w = World::new(&[2]).await;
    w.engine().set_lost("GPU-0", true);
    w.hear().await;
    w.engine().change_info(|info| info.disk_free_mib = 5);
    w.hear().await;
    let mut db = w.store.read().await.unwrap();
    let node = store::nodes::list(&mut db).await.unwrap().remove(0);
    assert_eq!((node.inventory_version, node.disk_mib), (2, 5));
    let ok: Vec<_> = store::fleet::devices(&mut db, "").await.unwrap().into_iter().map(|d| d.ok).collect();
    assert_eq!(ok, [false, true]);
}

#[tokio::test]
async fn silence_takes_a_machine_out_of_stock_and_the_first_word_brings_it_back() {
    let mut w = World::new(&[1]).await;
    w.engine().set_reachable(false);
    w.run_for(Span::from_secs(10)).await;
    assert_eq!(w.node_state().await, "ready", "ten seconds are not silence yet");
    w.run_for(Span::from_secs(1)).await;
    assert_eq!(w.node_state().await, "lost");
    assert_eq!(w.incidents("node-out-of-touch").await.len(), 1);
    // Its agent connects anew, as after a restart of the server.
    w.engine().set_reachable(true);
    control::node::register(&w.control, w.engine()).await.unwrap();
    let id = w.machines[0].id.clone();
    w.machines[0].watch = control::node::Watch::new(w.control.clone(), w.engine(), id);
    w.hear().await;
    assert_eq!(w.node_state().await, "ready");
    assert!(w.incidents("node-out-of-touch").await[0].closed_at.is_some());
}

#[tokio::test]
async fn a_machine_that_another_server_hears_stays_in_stock() {
    let mut w = World::new(&[1]).await;
    w.engine().set_reachable(false);
    let node = w.machines[0].id.clone();
    let boot = nodes::get(&mut w.store.read().await.unwrap(), &node).await.unwrap().unwrap().boot_id;
    for _ in 0..15 {
        w.run_for(Span::from_secs(1)).await;
        let (now, node, boot) = (w.clock.now(), node.clone(), boot.clone());
        let heard = w.store.write(move |tx| {
            let (node, boot) = (node.clone(), boot.clone());
            Box::pin(async move { nodes::proven(tx, &node, now, &boot, now).await })
        });
        heard.await.unwrap();
        assert_eq!(w.node_state().await, "ready");
    }
    assert!(w.incidents("node-out-of-touch").await.is_empty());
    // Then nobody hears it any more.
    w.run_for(Span::from_secs(12)).await;
    assert_eq!(w.node_state().await, "lost");
}

/// Starts something on a machine behind the store's back.
async fn plant(engine: &SimEngine, id: &base::InstanceId, generation: i64) {
    let instance = engine::InstanceRef { id: id.clone(), slug: base::Slug::new(99), generation };
    let spec = engine::InstanceSpec {
        instance: instance.clone(),
        devices: vec![],
        cpus: 1,
        memory_mib: 1,
        disk_mib: 1,
        max_processes: 1,
        env: std::collections::BTreeMap::new(),
        on_start: None,
        token: None,
    };
    engine.create(&spec).await.unwrap();
    engine.start(&instance).await.unwrap();
}

#[tokio::test]
async fn an_unknown_instance_is_reported_and_left_alone() {
    let mut w = World::new(&[1]).await;
    let stranger = base::InstanceId::new(w.now(), 4_711);
    plant(&w.engine(), &stranger, 1).await;
    w.hear().await;
    w.hear().await;
    let found = w.incidents("unknown-instance").await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].subject, stranger.as_str());
    assert!(w.engine().truth()[0].running, "nothing is removed that the books do not know");
}

#[tokio::test]
async fn what_rests_but_still_runs_is_stopped() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("1")).await;
    w.run_for(Span::from_secs(5)).await;
    w.stop(&id).await;
    w.catch_up().await;
    plant(&w.engine(), &id, 1).await;
    w.hear().await;
    assert!(!w.engine().truth()[0].running);
    assert_eq!(w.state(&id).await, State::Stopped);
    w.release(&id).await;
    w.settle().await;
    w.hear().await;
    plant(&w.engine(), &id, 1).await;
    w.hear().await;
    assert!(w.engine().truth().is_empty(), "what is released is removed");
    w.check_at_peace().await;
}

#[tokio::test]
async fn what_should_run_but_is_gone_is_lost_and_billed_to_what_was_known() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.60")).await;
    w.run_until(clock("10:00:30")).await;
    let instance = engine::InstanceRef { id: id.clone(), slug: w.get(&id).await.slug, generation: 1 };
    w.clock.set(clock("10:00:40"));
    w.engine().delete(&instance).await.unwrap();
    w.run_until(clock("10:01:00")).await;
    let lost = w.get(&id).await;
    let reason = lost.reason.unwrap();
    assert_eq!((lost.state, reason.cause), (State::Lost, Cause::InitDied));
    assert_eq!(w.charged().await, money("0.03"), "seen alive for the last time at 10:00:30");
    w.check_at_peace().await;
}
