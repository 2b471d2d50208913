//! What people read.

use std::collections::VecDeque;

use base::Cause;
use domain::instance::State;

use super::data;
use super::server::Server;

fn shown(args: &[&str]) -> String {
    let ran = Server::start().run(args);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    ran.out
}

#[test]
fn offers() {
    insta::assert_snapshot!(shown(&["offers"]));
}

#[test]
fn quote() {
    insta::assert_snapshot!(shown(&["quote", "--gpu", "RTX 4090", "--count", "2"]));
}

#[test]
fn show() {
    insta::assert_snapshot!(shown(&["show", "box"]));
}

#[test]
fn show_failed() {
    let server = Server::start();
    server.plan().states = VecDeque::from([State::Failed]);
    server.plan().reason = Some(data::reason(Cause::LostRace));
    insta::assert_snapshot!(server.run(&["show", "box"]).out);
}

#[test]
fn ls() {
    insta::assert_snapshot!(shown(&["ls"]));
}

#[test]
fn why() {
    insta::assert_snapshot!(shown(&["why", "box"]));
}

#[test]
fn bill() {
    insta::assert_snapshot!(shown(&["bill"]));
}

#[test]
fn balance() {
    insta::assert_snapshot!(shown(&["balance"]));
}

#[test]
fn events() {
    insta::assert_snapshot!(shown(&["events", "box"]));
}

#[test]
fn top_once() {
    insta::assert_snapshot!(shown(&["top", "--once"]));
}

#[test]
fn whoami() {
    let text = shown(&["whoami"]);
    let steady: Vec<_> = text.lines().filter(|line| !line.starts_with("server")).collect();
    insta::assert_snapshot!(steady.join("\n"));
}

#[test]
fn account_create() {
    insta::assert_snapshot!(shown(&["account", "create", "lab"]));
}

#[test]
fn account_ls() {
    insta::assert_snapshot!(shown(&["account", "ls"]));
}

#[test]
fn node_ls() {
    insta::assert_snapshot!(shown(&["node", "ls"]));
}

#[test]
fn incident_ls() {
    insta::assert_snapshot!(shown(&["incident", "ls"]));
}

#[test]
fn incident_close() {
    let server = Server::start();
    let id = data::closed_incident().id.to_string();
    let ran = server.run(&["incident", "close", &id, "--note", "the fan was broken"]);
    insta::assert_snapshot!(ran.out);
    let asked = server.asked("POST", &format!("/v1/incidents/{id}/close"));
    assert_eq!((ran.code, asked.len()), (0, 1), "{ran:?}");
    assert_eq!(asked[0].body, serde_json::json!({ "note": "the fan was broken" }));
}

#[test]
fn audit() {
    insta::assert_snapshot!(shown(&["audit"]));
}

/// Following comes back after every cut and misses nothing.
#[test]
fn events_are_followed_across_broken_connections() {
    use std::io::{BufRead, BufReader};
    let server = Server::start();
    let mut child = server.spawn(&["events", "box", "--follow", "--json"]);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let seqs: Vec<_> = lines
        .take(5)
        .map(|line| serde_json::from_str::<serde_json::Value>(&line.unwrap()).unwrap()["seq"].as_i64().unwrap())
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(seqs, [1, 2, 3, 4, 5]);
}

/// One JSON object a refresh, until the reader leaves.
#[test]
fn top_tells_one_object_a_refresh() {
    use std::io::{BufRead, BufReader};
    let server = Server::start();
    let mut child = server.spawn(&["top", "--json", "--interval", "100ms"]);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines.take(2) {
        let look: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert_eq!(look["instances"][0]["usage"]["devices"][0]["sample"]["gpu_util_pct"], 93);
    }
    assert_eq!(child.wait().unwrap().code(), Some(141));
}

#[test]
fn account_projects() {
    insta::assert_snapshot!(shown(&["account", "projects", "lab"]));
}

#[test]
fn bill_by_project() {
    insta::assert_snapshot!(shown(&["bill", "--by", "project"]));
}
