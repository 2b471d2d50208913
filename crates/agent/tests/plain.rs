//! Hosts that cannot isolate: an agent that is not root.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

mod common;

use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Stdio;

use base::{Cause, Span, Timestamp};
use common::{Node, eventually, next, pids_of, spec};
use engine::Engine;

/// An agent of an ordinary user, who is the first of the node's own range.
async fn begin(node: &mut Node, allowed: bool) -> tokio::process::Child {
    let user = node.config.uid_base;
    node.config.allow_no_isolation = allowed;
    let dir = node.path();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    chown(&dir, Some(user), Some(user)).unwrap();
    // The build's own folder may be closed to others.
    let program = dir.join("agent");
    std::fs::copy(env!("CARGO_BIN_EXE_suanli-agent-test"), &program).unwrap();
    let user = user.to_string();
    let child = tokio::process::Command::new("setpriv")
        .args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"])
        .arg(&program)
        .arg(serde_json::to_string(&node.config).unwrap())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let engine = &node.engine;
    eventually("the agent answers", || async { engine.info().await.is_ok() }).await;
    child
}

#[tokio::test(flavor = "multi_thread")]
async fn without_isolation_nothing_runs_unless_the_operator_allows_it() {
    let mut node = Node::prepared("rtx4090x8");
    let mut agent = begin(&mut node, false).await;
    let info = node.engine.info().await.unwrap();
    assert_eq!(info.isolation, "none");
    assert!(info.notices.iter().any(|n| n.contains("no instance can run")), "{:?}", info.notices);
    let error = node.engine.create(&spec(&[])).await.unwrap_err();
    assert_eq!(error.cause(), Cause::HostIncomplete);
    assert!(error.hint_text().unwrap().contains("root"));
    agent.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_processes_serve_where_allowed_and_say_so() {
    let mut node = Node::prepared("rtx4090x8");
    let mut agent = begin(&mut node, true).await;
    let info = node.engine.info().await.unwrap();
    assert_eq!(info.isolation, "none");
    assert!(info.notices.iter().any(|n| n.starts_with("NO ISOLATION")), "{:?}", info.notices);

    let mut wanted = spec(&[info.devices[5].uuid.clone()]);
    wanted.on_start = Some("exit 4".into());
    node.engine.create(&wanted).await.unwrap();
    let ready = node.engine.start(&wanted.instance).await.unwrap();
    assert!(ready.notices.iter().any(|n| n.starts_with("NO ISOLATION")), "{:?}", ready.notices);
    assert!(ready.notices.iter().any(|n| n.contains("memory are not limited")), "{:?}", ready.notices);
    let id = &wanted.instance.id;
    assert_eq!(node.ok(id, "cd; pwd").await, node.folder(id).join("home").display().to_string());
    node.ok(id, "echo kept > $SUANLI_WORKSPACE/file").await;
    node.ok(id, "sh -c 'while :; do :; done' >/dev/null 2>&1 & echo").await;
    let node_ref = &node;
    eventually("the load shows on the card", || async {
        let stats = node_ref.engine.stats(id).await.unwrap();
        stats.devices[0].gpu_util_pct.is_some_and(|pct| pct >= 5) && stats.memory_used_mib > 0
    })
    .await;
    assert_eq!(node.report(Timestamp::EPOCH, Span::from_secs(30)).await.command_exits[0].code, 4);

    // It outlives its agent here too.
    agent.kill().await.unwrap();
    let mut agent = begin(&mut node, true).await;
    assert_eq!(node.ok(id, "cat $SUANLI_WORKSPACE/file").await, "kept");
    assert_eq!(node.report(Timestamp::EPOCH, Span::ZERO).await.proofs.len(), 1);

    // Nothing but the agent itself is left of it, not even what left its session.
    node.ok(id, "setsid sleep 1234 >/dev/null 2>&1 & echo").await;
    node.stop(&wanted.instance).await;
    assert_eq!(pids_of(node.config.uid_base).len(), 1);
    let second = next(&wanted);
    node.engine.create(&second).await.unwrap();
    node.engine.start(&second.instance).await.unwrap();
    assert_eq!(node.ok(id, "cat $SUANLI_WORKSPACE/file").await, "kept");
    node.engine.delete(&second.instance).await.unwrap();
    assert!(!node.folder(id).exists());
    agent.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_without_other_users_serves_as_itself() {
    let mut node = Node::prepared("rtx4090x8");
    node.config.allow_no_isolation = true;
    let mut agent = tokio::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--", env!("CARGO_BIN_EXE_suanli-agent-test")])
        .arg(serde_json::to_string(&node.config).unwrap())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let engine = &node.engine;
    eventually("the agent answers", || async { engine.info().await.is_ok() }).await;
    let info = node.engine.info().await.unwrap();
    assert_eq!(info.isolation, "none");
    assert!(info.notices.iter().any(|n| n.contains("root here")), "{:?}", info.notices);
    let spec = node.rent(&[]).await;
    assert_eq!(
        node.ok(&spec.instance.id, "setsid sleep 4321 >/dev/null 2>&1 & echo $SUANLI_SLUG").await,
        spec.instance.slug.as_str()
    );
    node.engine.delete(&spec.instance).await.unwrap();
    let sleeping = std::process::Command::new("pgrep").args(["-f", "^sleep 4321$"]).output().unwrap();
    assert!(sleeping.stdout.is_empty(), "a process is left");
    agent.kill().await.unwrap();
}
