//! An agent that is killed at any moment, and strangers at its socket.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use base::{Cause, Span, Timestamp};
use common::{Node, eventually, pids_of, spec, traces};
use engine::Engine;

#[tokio::test(flavor = "multi_thread")]
async fn whenever_the_agent_dies_the_same_orders_succeed_afterwards() {
    let mut node = Node::new("rtx4090x8").await;
    let cards = node.cards().await;
    // Spread over the time that the orders take, so that all their steps are hit.
    for after_ms in (0..260).step_by(13) {
        let spec = spec(&cards[0..1]);
        let orders = tokio::spawn({
            let (engine, spec) = (node.engine.clone(), spec.clone());
            async move {
                engine.create(&spec).await?;
                engine.start(&spec.instance).await?;
                engine.stop(&spec.instance, Span::from_secs(5)).await?;
                engine.delete(&spec.instance).await
            }
        });
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        node.kill().await;
        let done = orders.await.unwrap();
        node.begin().await;
        // What the caller knows decides what he repeats; what was stopped stays stopped.
        let again = async {
            node.engine.create(&spec).await?;
            node.engine.start(&spec.instance).await
        };
        match (done, again.await) {
            (_, Ok(_)) => assert_eq!(node.ok(&spec.instance.id, "echo alive").await, "alive", "{after_ms}"),
            (_, Err(error)) => {
                assert!(
                    matches!(error.cause(), Cause::StaleGeneration | Cause::WrongState),
                    "killed after {after_ms} ms: {error}"
                );
            }
        }
        node.engine.delete(&spec.instance).await.unwrap();
        assert_eq!(traces(&spec.instance.slug), Vec::<String>::new(), "killed after {after_ms} ms");
        assert!(pids_of(node.config.uid_base).is_empty(), "killed after {after_ms} ms");
        assert!(!node.folder(&spec.instance.id).exists());
    }
    let report = node.report(Timestamp::EPOCH, Span::ZERO).await;
    assert_eq!(report.proofs.len(), 1, "no hole: {:?}", report.proofs);
    assert!(report.ended.is_empty(), "nothing ended by itself: {:?}", report.ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn half_written_states_are_taken_up() {
    let mut node = Node::new("rtx4090x8").await;
    let instance = node.rent(&[]).await;
    node.kill().await;
    let instances = node.config.state_dir.join("instances");
    // A creation that died before its first record, and data whose record is lost.
    let (empty, orphan) = (spec(&[]).instance.id, spec(&[]).instance.id);
    std::fs::create_dir(instances.join(empty.as_str())).unwrap();
    std::fs::create_dir_all(instances.join(orphan.as_str()).join("workspace")).unwrap();
    std::fs::create_dir_all(node.config.state_dir.join("trash/half/home")).unwrap();
    std::fs::write(instances.join(instance.instance.id.as_str()).join("meta.json.new"), "{").unwrap();
    node.begin().await;
    assert!(!instances.join(empty.as_str()).exists());
    assert!(instances.join(orphan.as_str()).join("workspace").exists(), "data are never removed by a machine");
    assert!(!node.config.state_dir.join("trash/half").exists());
    assert_eq!(node.ok(&instance.instance.id, "echo alive").await, "alive");
    node.engine.delete(&instance.instance).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_get_no_answer() {
    let node = Node::new("rtx4090x8").await;
    // Even where the modes let them through.
    std::fs::set_permissions(node.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&node.config.socket, std::fs::Permissions::from_mode(0o666)).unwrap();
    let program = "
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.settimeout(20)
try:
    s.sendall(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + bytes(3) + b'\\x04' + bytes(5))
    print(len(s.recv(100)))
except (BrokenPipeError, ConnectionResetError):
    print(0)
";
    let ask = |user: &str| {
        let output = std::process::Command::new("setpriv")
            .args(["--reuid", user, "--regid", user, "--clear-groups", "/usr/bin/python3", "-c", program])
            .arg(&node.config.socket)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_ne!(ask("0"), "0", "root is answered, so the next line means something");
    assert_eq!(ask("12345"), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_folder_has_one_agent() {
    let node = Node::new("rtx4090x8").await;
    let mut config = node.config.clone();
    config.socket = node.path().join("other.sock");
    let error = suanli_agent::run(config, std::future::pending()).await.unwrap_err();
    assert_eq!(error.cause(), Cause::AlreadyExists);
    eventually("the first agent goes on", || async { node.engine.info().await.is_ok() }).await;
}
