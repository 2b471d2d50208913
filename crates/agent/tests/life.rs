//! The life cycle of instances, through the agent's socket.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

mod common;

use base::{Cause, Span, Timestamp};
use common::{Node, eventually, next, spec, traces};
use engine::Engine;

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_lives_and_leaves_nothing_behind() {
    let node = Node::new("rtx4090x8").await;
    let info = node.engine.info().await.unwrap();
    assert_eq!(info.isolation, "container", "{:?}", info.notices);
    assert_eq!(info.devices.len(), 8);
    let card = info.devices[2].clone();

    let spec = spec(std::slice::from_ref(&card.uuid));
    let id = &spec.instance.id;
    node.engine.create(&spec).await.unwrap();
    node.engine.create(&spec).await.unwrap();
    let ready = node.engine.start(&spec.instance).await.unwrap();
    assert_eq!(node.engine.start(&spec.instance).await.unwrap(), ready, "starting again changes nothing");
    assert!(ready.evidence.contains("195:2"), "{}", ready.evidence);

    assert_eq!(node.ok(id, "id -u; id -un; hostname").await, format!("1000\nrenter\n{}", spec.instance.slug));
    node.ok(id, "echo kept > /workspace/file; echo home > ~/file").await;
    assert_eq!(node.shell(id, "exit 7").await.code, 7);

    let alive = node.engine.list().await.unwrap();
    assert_eq!(alive.len(), 1);
    assert!(alive[0].running && alive[0].devices == spec.devices && alive[0].ready_at == Some(ready.at));

    node.stop(&spec.instance).await;
    node.stop(&spec.instance).await;
    assert_eq!(traces(&spec.instance.slug), Vec::<String>::new());
    assert!(common::pids_of(node.config.uid_base).is_empty());
    let alive = node.engine.list().await.unwrap();
    assert!(!alive[0].running && alive[0].devices.is_empty());
    let error = node.engine.start(&spec.instance).await.unwrap_err();
    assert_eq!(error.cause(), Cause::WrongState, "a stopped generation does not come back");

    let second = next(&spec);
    node.engine.create(&second).await.unwrap();
    node.engine.start(&second.instance).await.unwrap();
    assert_eq!(node.ok(id, "cat /workspace/file ~/file").await, "kept\nhome");

    let error = node.engine.stop(&spec.instance, Span::ZERO).await.unwrap_err();
    assert_eq!(error.cause(), Cause::StaleGeneration);
    let error = node.engine.create(&spec).await.unwrap_err();
    assert_eq!(error.cause(), Cause::StaleGeneration);

    node.engine.delete(&second.instance).await.unwrap();
    node.engine.delete(&second.instance).await.unwrap();
    assert_eq!(traces(&spec.instance.slug), Vec::<String>::new());
    assert!(!node.folder(id).exists());
    assert!(node.engine.list().await.unwrap().is_empty());
    assert_eq!(node.engine.create(&second).await.unwrap_err().cause(), Cause::StaleGeneration);
    assert_eq!(node.engine.start(&second.instance).await.unwrap_err().cause(), Cause::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_has_one_holder() {
    let node = Node::new("rtx4090x8").await;
    let cards = node.cards().await;
    let first = spec(&cards[0..2]);
    node.engine.create(&first).await.unwrap();
    let second = spec(&cards[1..3]);
    let error = node.engine.create(&second).await.unwrap_err();
    assert_eq!(error.cause(), Cause::DeviceBusy);
    assert!(!node.folder(&second.instance.id).exists());
    assert_eq!(traces(&second.instance.slug), Vec::<String>::new());
    let unknown = spec(&["GPU-of-somebody-else".to_owned()]);
    assert_eq!(node.engine.create(&unknown).await.unwrap_err().cause(), Cause::DeviceLost);

    node.engine.stop(&first.instance, Span::ZERO).await.unwrap();
    node.engine.create(&second).await.unwrap();
    node.engine.delete(&second.instance).await.unwrap();
    node.engine.delete(&first.instance).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_death_of_the_first_process_is_reported_at_once() {
    let node = Node::new("rtx4090x8").await;
    let spec = node.rent(&node.cards().await[0..1]).await;
    let before = node.report(Timestamp::EPOCH, Span::ZERO).await;
    assert!(before.ended.is_empty() && before.alive.len() == 1 && before.samples.len() == 8);

    let waiting = tokio::spawn({
        let engine = node.engine.clone();
        async move { engine.report(before.now, Span::from_secs(60)).await.unwrap() }
    });
    // Inside a namespace the first process cannot be killed by its own children.
    let init = first_process(&node, &spec.instance.id);
    rustix::process::kill_process(init, rustix::process::Signal::KILL).unwrap();
    let report = waiting.await.unwrap();
    assert_eq!(report.ended.len(), 1);
    let ended = &report.ended[0];
    assert_eq!((&ended.id, ended.generation, ended.cause), (&spec.instance.id, 1, Cause::InitDied));
    assert!(ended.at > before.now && ended.at <= report.now);
    eventually("everything of it is cleared away", || async { traces(&spec.instance.slug).is_empty() }).await;
    assert_eq!(node.engine.start(&spec.instance).await.unwrap_err().cause(), Cause::InitDied);
    assert!(node.report(report.now, Span::ZERO).await.ended.is_empty(), "delivered once");
    node.engine.delete(&spec.instance).await.unwrap();
}

fn first_process(node: &Node, id: &base::InstanceId) -> rustix::process::Pid {
    let meta = std::fs::read_to_string(node.folder(id).join("meta.json")).unwrap();
    let meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
    let pid = i32::try_from(meta["init"]["pid"].as_i64().unwrap()).unwrap();
    rustix::process::Pid::from_raw(pid).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_outlive_a_killed_agent() {
    let mut node = Node::new("rtx4090x8").await;
    let spec = node.rent(&node.cards().await[0..1]).await;
    let other = node.rent(&[]).await;
    let id = &spec.instance.id;
    node.ok(id, "sleep 1000 >/dev/null 2>&1 & echo started").await;
    let init = first_process(&node, id);
    let start = node.report(Timestamp::EPOCH, Span::ZERO).await;

    node.kill().await;
    // The other one dies while nobody watches.
    let dying = first_process(&node, &other.instance.id);
    rustix::process::kill_process(dying, rustix::process::Signal::KILL).unwrap();
    node.begin().await;

    assert_eq!(first_process(&node, id), init, "nothing was started again");
    assert_eq!(node.ok(id, "pgrep -c -f 'sleep 100[0]'").await, "1");
    let report = node.report(Timestamp::EPOCH, Span::ZERO).await;
    assert_eq!(report.proofs.len(), 1, "no hole: {:?}", report.proofs);
    assert_eq!(report.proofs[0].from, start.proofs[0].from);
    assert_eq!(report.proofs[0].to, report.now);
    assert_eq!(report.ended.len(), 1);
    assert_eq!(report.ended[0].id, other.instance.id);
    assert!(report.ended[0].at <= start.now.after(Span::from_secs(1)), "not later than it was seen alive");
    assert_eq!(report.inventory_version, start.inventory_version);

    // A death after the restart is noticed as before.
    rustix::process::kill_process(init, rustix::process::Signal::KILL).unwrap();
    let next = node.report(report.now, Span::from_secs(60)).await;
    assert_eq!(next.ended.len(), 1);
    assert_eq!(&next.ended[0].id, id);
    node.engine.delete(&spec.instance).await.unwrap();
    node.engine.delete(&other.instance).await.unwrap();
    assert_eq!(traces(&spec.instance.slug), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_on_start_command_runs_once_and_its_end_is_reported() {
    let mut node = Node::new("rtx4090x8").await;
    let mut wanted = spec(&[]);
    wanted.on_start = Some("echo ran >> /workspace/ran; exit 3".into());
    wanted.env.insert("GREETING".into(), "hello world".into());
    node.engine.create(&wanted).await.unwrap();
    node.engine.start(&wanted.instance).await.unwrap();
    let report = node.report(Timestamp::EPOCH, Span::from_secs(60)).await;
    assert_eq!(report.command_exits.len(), 1);
    assert_eq!((report.command_exits[0].code, &report.command_exits[0].id), (3, &wanted.instance.id));
    assert_eq!(node.ok(&wanted.instance.id, "echo $GREETING; cat /workspace/ran").await, "hello world\nran");
    node.restart().await;
    assert!(node.report(report.now, Span::from_secs(1)).await.command_exits.is_empty(), "not reported twice");
    node.engine.delete(&wanted.instance).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_generation_takes_over_what_the_older_one_left() {
    let node = Node::new("rtx4090x8").await;
    let first = node.rent(&node.cards().await[0..1]).await;
    let second = next(&first);
    node.engine.create(&second).await.unwrap();
    assert_eq!(node.engine.start(&first.instance).await.unwrap_err().cause(), Cause::StaleGeneration);
    node.engine.start(&second.instance).await.unwrap();
    let inits = node.ok(&second.instance.id, "ps -e -o pid= | head -1").await;
    assert_eq!(inits.trim(), "1");
    assert!(node.report(Timestamp::EPOCH, Span::ZERO).await.ended.is_empty(), "it was asked to end");
    node.engine.delete(&second.instance).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_overtakes_its_creation_wins() {
    let node = Node::new("rtx4090x8").await;
    let card = node.engine.info().await.unwrap().devices[0].uuid.clone();

    // Nothing is known of the instance yet; of another an older generation is.
    let first = spec(std::slice::from_ref(&card));
    node.stop(&first.instance).await;
    assert_eq!(node.engine.create(&first).await.unwrap_err().cause(), Cause::StaleGeneration);
    let second = next(&first);
    node.engine.create(&second).await.unwrap();
    node.stop(&second.instance).await;
    let third = next(&second);
    node.stop(&third.instance).await;
    assert_eq!(node.engine.create(&third).await.unwrap_err().cause(), Cause::StaleGeneration);

    // The card is free, and the instance can go on.
    assert!(node.engine.list().await.unwrap().iter().all(|a| a.devices.is_empty()));
    let fourth = next(&third);
    node.engine.create(&fourth).await.unwrap();
    node.engine.delete(&fourth.instance).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_named_and_leaves_nothing() {
    let mut node = Node::prepared("rtx4090x8");
    let mount = node.path().join("small");
    std::fs::create_dir(&mount).unwrap();
    let mounted = Mounted(mount.to_str().unwrap().to_owned());
    common::host("mount", &["-t", "tmpfs", "-o", "size=40m", "tmpfs", &mounted.0]);
    node.config.state_dir = mount.join("state");
    node.begin().await;

    let promised = spec(&[]);
    assert_eq!(node.engine.create(&promised).await.unwrap_err().cause(), Cause::DiskFull);
    assert!(!node.folder(&promised.instance.id).exists());

    // It fits by its promise; then the disk fills until writing itself fails.
    let mut small = spec(&[]);
    small.disk_mib = 1;
    let filler = std::fs::File::create(mount.join("filler")).unwrap();
    let free = rustix::fs::statvfs(&mount).unwrap();
    rustix::fs::fallocate(&filler, rustix::fs::FallocateFlags::empty(), 0, free.f_bavail * free.f_frsize).unwrap();
    let error = node.engine.create(&small).await.unwrap_err();
    assert_eq!(error.cause(), Cause::DiskFull);
    assert!(error.hint_text().is_some());
    assert!(!node.folder(&small.instance.id).exists());
    assert_eq!(traces(&small.instance.slug), Vec::<String>::new());
    assert!(node.engine.list().await.unwrap().is_empty());

    filler.set_len(0).unwrap();
    node.engine.create(&small).await.unwrap();
    node.engine.start(&small.instance).await.unwrap();
    node.engine.delete(&small.instance).await.unwrap();
    node.kill().await;
    drop(mounted);
}

/// A mount of the test, taken away however it ends.
struct Mounted(String);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").args(["-l", &self.0]).status();
    }
}
