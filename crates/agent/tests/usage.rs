//! What is measured of an instance.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

mod common;

use base::{Span, Timestamp};
use common::{Node, eventually};
use engine::Engine;

/// What counts as activity of a card, percent. No more is asked, because a busy
/// machine may give the program a small share.
const ACTIVE: i64 = 5;

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_program_shows_on_its_card_and_in_the_statistics() {
    let node = Node::new("rtx4090x8").await;
    let cards = node.cards().await;
    let spec = node.rent(&cards[1..2]).await;
    let id = spec.instance.id.clone();
    let node = &node;
    let id = &id;
    // One second at least passes before anything is known of use.
    eventually("the instance is measured", || async {
        node.engine.stats(id).await.unwrap().activity.contains("now card")
    })
    .await;
    node.ok(id, "sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $! > /workspace/pid").await;

    eventually("the program shows", || async {
        let stats = node.engine.stats(id).await.unwrap();
        let told = stats.activity.contains("card at") && stats.activity.contains("CPU at");
        told && stats.cpu_milli >= 50 && stats.devices[0].gpu_util_pct.is_some_and(|pct| pct >= ACTIVE)
    })
    .await;
    let stats = node.engine.stats(id).await.unwrap();
    assert!(stats.cpu_used > Span::ZERO && stats.processes >= 2);
    assert_eq!(stats.devices[0].uuid, cards[1]);
    eventually("the program shows inside, with its number inside", || async {
        let pid = node.ok(id, "cat /workspace/pid").await;
        let text = node.ok(id, "cat /opt/suanli/cards.toml").await;
        text.contains(&format!("pid = {pid}")) && !text.contains("gpu_util_pct = 0\n")
    })
    .await;
    let report = node.report(Timestamp::EPOCH, Span::ZERO).await;
    let util = |uuid: &str| report.samples.iter().find(|s| s.uuid == uuid).unwrap().gpu_util_pct.unwrap();
    assert!(util(&cards[1]) >= ACTIVE && util(&cards[0]) < ACTIVE, "only the card of the instance is busy");

    node.ok(id, "kill $(cat /workspace/pid)").await;
    eventually("it is idle again and the last activity stands still", || async {
        let stats = node.engine.stats(id).await.unwrap();
        stats.cpu_milli < 50 && stats.at.since(stats.last_active_at) > Span::from_secs(3)
    })
    .await;
    node.engine.delete(&spec.instance).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn open_streams_are_counted_and_bytes_are_activity() {
    let node = Node::new("rtx4090x8").await;
    let spec = node.rent(&[]).await;
    let id = &spec.instance.id;
    let ready = node.engine.list().await.unwrap()[0].ready_at.unwrap();
    assert!(node.engine.stats(id).await.unwrap().last_active_at >= ready);
    let argv = ["cat"].map(str::to_owned).to_vec();
    let open = link::Open::Exec { argv, env: Default::default(), cwd: None, terminal: None };
    let mut stream = node.stream(id, open).await;
    let node = &node;
    eventually("the stream is counted", || async { node.engine.stats(id).await.unwrap().sessions == 1 }).await;
    let before = node.engine.stats(id).await.unwrap().last_active_at;
    use futures_util::SinkExt;
    stream.send(link::Frame::Stdin(b"hello".to_vec())).await.unwrap();
    eventually("bytes are activity", || async {
        let stats = node.engine.stats(id).await.unwrap();
        stats.last_active_at > before && stats.activity.contains("bytes through a session")
    })
    .await;
    drop(stream);
    eventually("a stream that its caller dropped is closed", || async {
        node.engine.stats(id).await.unwrap().sessions == 0
    })
    .await;
    eventually("and its command ended", || async { node.shell(id, "pgrep -x cat").await.code == 1 }).await;
    node.engine.delete(&spec.instance).await.unwrap();
}
