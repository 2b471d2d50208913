//! A site restored from a backup that is older than its machines.

use std::sync::Arc;

use base::{Cause, InstanceId, Span};
use control::Control;
use control::node::Watch;
use control::testing::Call;
use domain::instance::State;
use store::recovery::{self, Difference, Report};

use crate::world::{Machine, World, clock, want};

/// Everything in the books now.
async fn backup(w: &World) -> Vec<u8> {
    let (send, mut receive) = tokio::sync::mpsc::channel(4);
    let (from, now) = (w.store.clone(), w.now());
    let work = tokio::spawn(async move { store::backup::stream(&from, now, send).await });
    let mut all = Vec::new();
    while let Some(piece) = receive.recv().await {
        all.extend(piece);
    }
    work.await.unwrap().unwrap();
    all
}

/// The machines go on, the books become those of the backup.
async fn restore(w: &mut World, backup: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.jsonl");
    std::fs::write(&file, backup).unwrap();
    let url = format!("sqlite://{}", folder.path().join("new.db").display());
    store::backup::restore(&url, &file, w.now()).await.unwrap();
    w.store = store::open(&url).await.unwrap();
    w.control = Control::new(w.store.clone(), w.clock.clone());
    for machine in std::mem::take(&mut w.machines) {
        let engine = machine.engine;
        let id = control::node::register(&w.control, engine.clone()).await.unwrap();
        let watch = Watch::new(w.control.clone(), engine.clone(), id.clone());
        w.machines.push(Machine { id, engine, watch });
    }
    folder
}

async fn report(w: &World) -> Report {
    recovery::report(&mut w.store.read().await.unwrap()).await.unwrap().unwrap()
}

async fn accept(w: &World, digest: &str) -> base::Result<recovery::Accepted> {
    let (digest, now) = (digest.to_owned(), w.now());
    w.store
        .write(move |tx| {
            let digest = digest.clone();
            Box::pin(async move { recovery::accept(tx, &digest, now).await })
        })
        .await
}

fn found(report: &Report, id: &InstanceId) -> Difference {
    report.nodes.iter().flat_map(|n| &n.instances).find(|i| i.id == *id).unwrap().difference
}

/// Orders that change something, in the order of their arrival.
fn orders(w: &World) -> usize {
    let calls = w.engine().calls();
    let calls = calls.borrow();
    calls.iter().filter(|c| matches!(c, Call::Create | Call::Start | Call::Stop | Call::Delete)).count()
}

#[tokio::test]
async fn nothing_happens_until_the_difference_is_accepted() {
    let mut w = World::new(&[8]).await;
    let same = w.run(&want("3.60")).await;
    let newer = w.run(&want("3.60")).await;
    let moved = w.run(&want("3.60")).await;
    let missing = w.run(&want("3.60")).await;
    let at_rest = w.run(&want("3.60")).await;
    w.stop(&at_rest).await;
    w.run_for(Span::from_secs(60)).await;
    let old = backup(&w).await;
    // Life goes on after the backup.
    for id in [&newer, &moved] {
        w.stop(id).await;
        w.settle().await;
    }
    w.start(&newer).await;
    w.settle().await;
    w.release(&missing).await;
    w.start(&at_rest).await;
    w.settle().await;
    let unknown = w.run(&want("3.60")).await;
    w.run_for(Span::from_secs(600)).await;
    let truth = w.engine().truth();

    let _folder = restore(&mut w, &old).await;
    let before = orders(&w);
    w.run_for(Span::from_hours(2)).await;
    assert_eq!(orders(&w), before, "an engine was told something");
    assert_eq!(w.engine().truth(), truth);
    assert_eq!(w.state(&same).await, State::Running);
    let refused = w.try_stop(&same).await.unwrap_err();
    assert_eq!(refused.cause(), Cause::InRecovery);
    assert_eq!(w.try_rent(&want("1")).await.unwrap_err().cause(), Cause::InRecovery);
    assert_eq!(w.incidents("unknown-instance").await[0].subject, unknown.as_str());

    let report = report(&w).await;
    assert!(report.nodes[0].heard);
    assert_eq!(found(&report, &same), Difference::Same);
    assert_eq!(found(&report, &newer), Difference::Newer);
    assert_eq!(found(&report, &at_rest), Difference::Newer);
    assert_eq!(found(&report, &missing), Difference::Missing);
    assert_eq!(found(&report, &moved), Difference::Missing, "it runs no more");
    assert_eq!(found(&report, &unknown), Difference::Unknown);
    assert_eq!(accept(&w, "something else").await.unwrap_err().cause(), Cause::WrongState);
    w.engine().kill(&unknown);
    w.hear().await;
    assert_eq!(accept(&w, &report.digest).await.unwrap_err().cause(), Cause::WrongState, "it has changed");
    let report = self::report(&w).await;
    let done = accept(&w, &report.digest).await.unwrap();
    assert_eq!((done.adopted, done.lost, done.unknown, done.silent), (2, 2, 1, 0));
    assert_eq!(accept(&w, &report.digest).await.unwrap_err().cause(), Cause::WrongState);

    w.run_for(Span::from_secs(60)).await;
    assert_eq!(w.state(&same).await, State::Running);
    let adopted = w.get(&newer).await;
    assert_eq!((adopted.state, adopted.generation), (State::Running, 2));
    for lost in [&missing, &moved] {
        let row = w.get(lost).await;
        assert_eq!(row.state, State::Lost, "{row:?}");
        assert_eq!(row.reason.unwrap().cause, Cause::InRecovery);
        let segment = w.segments(lost).await.remove(0);
        assert_eq!(segment.to, Some(clock("10:01:00")), "billing ends at the backup's evidence");
    }
    let rested = w.get(&at_rest).await;
    assert_eq!((rested.state, rested.generation), (State::Stopped, 2), "its owner was told that it rests");
    assert!(w.engine().truth().iter().any(|a| a.instance.id == at_rest && !a.running), "its data are kept");
    assert!(w.engine().truth().iter().any(|a| a.instance.id == unknown), "what is unknown is never deleted");
    // The order reaches the newer generation.
    w.stop(&newer).await;
    w.run_for(Span::from_secs(5)).await;
    assert_eq!(w.state(&newer).await, State::Stopped);
    let segments = w.segments(&newer).await;
    assert_eq!((segments[0].to, segments[1].generation), (Some(clock("10:01:00")), 2));
    let audit = w.store.snapshot(|db| Box::pin(store::audit::run(db))).await.unwrap();
    assert_eq!(audit.differences, Vec::<String>::new());
}

#[tokio::test]
async fn a_machine_that_was_silent_is_settled_when_it_comes_back() {
    let mut w = World::new(&[2, 2]).await;
    let id = w.run(&want("3.60")).await;
    w.run_for(Span::from_secs(60)).await;
    let old = backup(&w).await;
    w.stop(&id).await;
    w.settle().await;
    w.start(&id).await;
    w.settle().await;
    let node = w.get(&id).await.node.unwrap();
    let _folder = restore(&mut w, &old).await;
    let silent = w.machines.iter().position(|m| m.id == node).unwrap();
    let engine: Arc<_> = w.machines[silent].engine.clone();
    engine.set_reachable(false);
    w.run_for(Span::from_secs(30)).await;
    let report = report(&w).await;
    assert_eq!(report.nodes.iter().filter(|n| !n.heard).count(), 1);
    let done = accept(&w, &report.digest).await.unwrap();
    assert_eq!((done.adopted, done.silent), (0, 1));
    engine.set_reachable(true);
    w.run_for(Span::from_secs(10)).await;
    let row = w.get(&id).await;
    assert_eq!((row.state, row.generation), (State::Running, 2));
    assert_eq!(w.segments(&id).await[0].to, Some(clock("10:01:00")));
}
