//! The engine contract by system containers of a real Incus.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

mod common;

use base::{Cause, Span, Timestamp};
use common::incus::Site;
use common::{eventually, next};
use engine::Engine;

/// Room for a whole system, which the specifications of other tests do not promise.
fn spec(cards: &[String]) -> engine::InstanceSpec {
    engine::InstanceSpec { disk_mib: 1_024, ..common::spec(cards) }
}

async fn rent(node: &common::Node, cards: &[String]) -> engine::InstanceSpec {
    let spec = spec(cards);
    node.engine.create(&spec).await.unwrap();
    node.engine.start(&spec.instance).await.unwrap();
    spec
}

#[tokio::test(flavor = "multi_thread")]
async fn incus_runs_an_instance_and_keeps_what_it_holds() {
    let site = Site::of_run();
    let mut node = site.node(0, "debian");
    node.begin().await;
    let info = node.engine.info().await.unwrap();
    assert_eq!((info.isolation.as_str(), info.notices.as_slice()), ("container", &[][..]));
    assert!(info.disk_free_mib > 0);
    let card = info.devices[2].clone();

    let mut first = spec(std::slice::from_ref(&card.uuid));
    first.env.insert("GREETING".into(), "hello".into());
    let id = &first.instance.id;
    node.engine.create(&first).await.unwrap();
    node.engine.create(&first).await.unwrap();
    let ready = node.engine.start(&first.instance).await.unwrap();
    assert_eq!(node.engine.start(&first.instance).await.unwrap(), ready, "starting again changes nothing");
    assert!(ready.evidence.contains("195:2"), "{}", ready.evidence);

    assert_eq!(
        node.ok(id, "id -u; pwd; echo $GREETING; basename $(readlink /proc/1/exe)").await,
        "0\n/root\nhello\nsystemd"
    );
    assert_eq!(node.ok(id, "ls /dev | grep -c nvidia").await, "1");
    assert_ne!(node.shell(id, "echo x > /opt/suanli/guest").await.code, 0, "the helper cannot be changed from inside");
    node.ok(id, "echo kept > /workspace/file; echo installed > /usr/local/bin/tool").await;
    let alive = node.engine.list().await.unwrap();
    assert!(alive[0].running && alive[0].devices == first.devices);
    let stats = node.engine.stats(id).await.unwrap();
    assert!(stats.processes > 2 && stats.memory_used_mib > 0, "{stats:?}");

    node.stop(&first.instance).await;
    node.stop(&first.instance).await;
    assert_eq!(site.incus(0, &node, &["list", "-f", "csv", "-c", "s"]), "STOPPED");
    let second = next(&first);
    node.engine.create(&second).await.unwrap();
    node.engine.start(&second.instance).await.unwrap();
    assert_eq!(node.ok(id, "cat /workspace/file /usr/local/bin/tool").await, "kept\ninstalled");
    assert_eq!(site.incus(0, &node, &["list", "-f", "csv", "-c", "n"]), format!("{id}-g2"));

    for stale in [
        node.engine.stop(&first.instance, Span::ZERO).await.map(drop).unwrap_err(),
        node.engine.create(&first).await.unwrap_err(),
        node.engine.delete(&first.instance).await.unwrap_err(),
    ] {
        assert_eq!(stale.cause(), Cause::StaleGeneration);
    }
    node.engine.delete(&second.instance).await.unwrap();
    node.engine.delete(&second.instance).await.unwrap();
    assert_eq!(site.incus(0, &node, &["list", "-f", "csv"]), "");
    assert!(!node.folder(id).exists() && node.engine.list().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn incus_limits_what_was_promised() {
    let site = Site::of_run();
    let mut node = site.node(0, "tiny");
    node.begin().await;
    let mut promised = spec(&[]);
    promised.disk_mib = 300;
    promised.max_processes = 40;
    node.engine.create(&promised).await.unwrap();
    node.engine.start(&promised.instance).await.unwrap();
    let id = &promised.instance.id;
    assert_eq!(node.ok(id, "ls /dev | grep -c nvidia || true").await, "0");
    let written = node.shell(id, "dd if=/dev/urandom of=/root/big bs=1M count=400 && sync").await;
    assert_ne!(written.code, 0, "more than the disk that was promised could be written");
    let forked = node.shell(id, "for i in $(seq 60); do sleep 20 & done").await;
    assert!(forked.code != 0 || forked.err.contains("fork"), "{forked:?}");
    node.engine.delete(&promised.instance).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn incus_may_be_away_and_the_agent_may_die() {
    let site = Site::of_run();
    let mut node = site.node(1, "tiny");
    node.begin().await;
    let running = rent(&node, &node.cards().await[0..1]).await;
    let id = &running.instance.id;
    site.member(1, "kill");
    assert_eq!(node.ok(id, "echo here").await, "here", "streams do not go through Incus");
    node.restart().await;
    assert_eq!(node.ok(id, "echo still").await, "still");
    let alive = node.engine.list().await.unwrap();
    assert!(alive[0].running, "{alive:?}");
    let report = node.report(Timestamp::EPOCH, Span::ZERO).await;
    assert_eq!(report.proofs.len(), 1, "no hole: {:?}", report.proofs);
    assert!(report.ended.is_empty());
    let error = node.engine.create(&spec(&[])).await.unwrap_err();
    assert_eq!(error.cause(), Cause::Unavailable, "{error}");
    site.member(1, "start");
    node.engine.stop(&running.instance, Span::from_secs(5)).await.unwrap();
    node.engine.delete(&running.instance).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn incus_restarts_from_inside_are_no_end_and_switching_off_is() {
    let site = Site::of_run();
    let mut node = site.node(0, "debian");
    node.begin().await;
    let running = rent(&node, &[]).await;
    let id = &running.instance.id;
    // Whoever asks before the system has started is not heard.
    let up = "systemctl is-system-running --wait | grep -E 'running|degraded'";
    eventually("its system is up", async || node.can(id, up).await).await;
    let boot = node.ok(id, "cut -d' ' -f22 /proc/1/stat").await;
    // It may end the very command that asks for it.
    node.can(id, "systemctl reboot").await;
    let later = format!("test $(cut -d' ' -f22 /proc/1/stat) != {boot}");
    eventually("it is back with another first process", async || node.can(id, &later).await).await;
    assert!(node.report(Timestamp::EPOCH, Span::ZERO).await.ended.is_empty());

    eventually("its system is up again", async || node.can(id, up).await).await;
    node.can(id, "systemctl poweroff").await;
    eventually("its end is noted", async || !node.report(Timestamp::EPOCH, Span::ZERO).await.ended.is_empty()).await;
    let ended = node.report(Timestamp::EPOCH, Span::ZERO).await.ended;
    assert_eq!((ended[0].cause, ended[0].generation), (Cause::InitDied, 1));
    node.engine.delete(&running.instance).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn incus_keeps_instances_apart() {
    let site = Site::of_run();
    let mut node = site.node(0, "tiny");
    node.begin().await;
    let (one, other) = (rent(&node, &[]).await, rent(&node, &[]).await);
    let user = async |id| {
        let map = node.ok(id, "cat /proc/self/uid_map").await;
        map.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let (first, second) = (user(&one.instance.id).await, user(&other.instance.id).await);
    assert!(first.abs_diff(second) >= 65_536, "their users overlap: {first} {second}");
    assert_eq!(node.ok(&one.instance.id, "ls /sys/class/net").await, "lo", "--network closed is kept here too");
    assert_eq!(node.shell(&one.instance.id, "ls /dev/incus").await.code, 1, "Incus itself does not show inside");
    for spec in [one, other] {
        node.engine.delete(&spec.instance).await.unwrap();
    }
}
