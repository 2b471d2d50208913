//! Renting and waiting.

use std::collections::VecDeque;

use base::{Cause, Error};
use domain::instance::State;

use super::data;
use super::server::Server;

const RENT: &[&str] = &["rent", "--gpu", "RTX 4090"];

#[test]
fn the_id_alone_is_printed_once_the_cards_are_there() {
    let server = Server::start();
    server.plan().states = VecDeque::from([State::Requested, State::Creating]);
    let ran = server.run(RENT);
    assert_eq!((ran.code, ran.out), (0, format!("{}\n", data::instance_id())));
    let slug = data::instance(State::Running, None).slug;
    assert!(ran.err.starts_with(&format!("{slug}: requested\n{slug}: creating\n")), "{}", ran.err);
    assert!(ran.err.contains("its cards are fake"), "{}", ran.err);
    let asked = server.asked("POST", "/v1/instances");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].key.as_ref().unwrap().len(), 32);
    assert_eq!(asked[0].token.as_deref(), Some("Bearer test-token"));
    server.run(RENT);
    assert_ne!(server.asked("POST", "/v1/instances")[1].key, asked[0].key, "each command is a wish of its own");
}

#[test]
fn waiting_tells_each_state_and_ends_when_it_runs() {
    let server = Server::start();
    server.plan().states = VecDeque::from([State::Requested, State::Creating, State::Starting, State::Running]);
    let ran = server.run(&[RENT, &["--wait", "--json"]].concat());
    assert_eq!(ran.code, 0);
    assert_eq!(ran.json()["state"], "running");
    assert_eq!(ran.json()["id"], data::instance_id().as_str());
    let told: Vec<_> = ran.err.lines().filter_map(|line| line.split_once(": ").map(|(_, state)| state)).collect();
    assert_eq!(told, ["requested", "creating", "starting", "running"]);
}

#[test]
fn a_lost_race_is_told_even_without_waiting() {
    let server = Server::start();
    server.plan().states = VecDeque::from([State::Requested, State::Failed]);
    server.plan().reason = Some(data::reason(Cause::LostRace));
    let ran = server.run(RENT);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    assert!(
        ran.err.contains(
            "refused (lost-race): somebody else took the last card\nhint: try again with one card; `suanli why"
        )
    );
}

#[test]
fn a_start_that_failed_is_3_whatever_the_kind_of_its_cause() {
    let server = Server::start();
    server.plan().states = VecDeque::from([State::Starting, State::Stopping, State::Failed]);
    server.plan().reason = Some(data::reason(Cause::EngineFailed));
    let ran = server.run(&["start", "box", "--wait", "--json"]);
    assert_eq!(ran.code, 3);
    assert_eq!(ran.json()["error"]["code"], "engine-failed");
}

#[test]
fn a_refused_request_waits_for_nothing() {
    let server = Server::start();
    server.plan().refuse = Some(("/v1/instances", Error::new(Cause::NotEnoughFunds, "the balance is 0.00")));
    let ran = server.run(RENT);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    assert_eq!(server.plan().asked.len(), 1);
}

#[test]
fn stop_and_release_can_wait() {
    let server = Server::start();
    server.plan().states = VecDeque::from([State::Stopping, State::Stopping, State::Stopped]);
    let ran = server.run(&["stop", "box", "--wait"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.ends_with("is stopped; its data stay\n"), "{ran:?}");
    // No terminal, so nobody can be asked.
    let ran = server.run(&["release", "my box", "--wait"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("is released"));
    assert_eq!(server.asked("POST", "/release")[0].path, "/v1/instances/my%20box/release");
}

/// The renter's table of the contract, as far as it exists now.
#[test]
fn every_flag_of_the_contract_arrives_as_it_was_meant() {
    let flags: &[&str] = &[
        "--gpu",
        "RTX 4090",
        "--count",
        "2",
        "--plan",
        "on-demand",
        "--isolation",
        "container",
        "--memory",
        "64",
        "--cpus",
        "16",
        "--disk",
        "200",
        "--on-start",
        "python3 train.py",
        "--env",
        "A=1",
        "--env",
        "B=x=y",
        "--stop-idle",
        "off",
        "--stop-after",
        "8h",
        "--stop-at",
        "22:00",
        "--budget",
        "50",
        "--name",
        "训练",
        "--account",
        "lab",
    ];
    let expected = serde_json::json!({
        "gpu": "RTX 4090", "count": 2, "plan": "on-demand", "isolation": "container", "memory_gib": 64, "cpus": 16,
        "disk_gib": 200, "on_start": "python3 train.py", "env": {"A": "1", "B": "x=y"}, "name": "训练",
        "account": "lab", "rules": {"idle": "off", "after": "8h", "at": "22:00", "budget": "50"},
    });
    let server = Server::start();
    for verb in ["quote", "rent"] {
        assert_eq!(server.run(&[&[verb], flags].concat()).code, 0);
    }
    assert_eq!(server.run(&[&["run"], flags, &["--", "both", "0"]].concat()).code, 0);
    let bodies: Vec<_> = server.asked("POST", "").into_iter().filter(|a| a.body.get("gpu").is_some()).collect();
    assert_eq!(bodies.len(), 3);
    for asked in bodies {
        assert_eq!(asked.body, expected, "{}", asked.path);
    }
    // The job has released it.
    server.plan().states = VecDeque::from([State::Running]);
    for args in [
        &["offers", "--gpu", "x", "--count", "2", "--plan", "spot", "--min-vram", "40", "--max-price", "9.5"][..],
        &["ls", "--all"],
        &["show", "box"],
        &["events", "box"],
        &["top", "box", "--once"],
        &["start", "box", "--gpu", "x", "--count", "0"],
        &["bill", "--month", "2026-03", "--explain", "--account", "lab"],
        &["balance"],
        &["why", "box"],
        &["whoami"],
        &["account", "create", "lab", "--user", "ann", "--time-zone", "Asia/Shanghai"],
        &["account", "topup", "lab", "100", "--note", "cash"],
        &["account", "ls"],
        &["node", "ls"],
        &["incident", "ls"],
    ] {
        assert_eq!(server.run(args).code, 0, "{args:?}");
        let ran = server.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{args:?}");
        ran.json();
    }
    let offers = &server.asked("GET", "/v1/offers")[0].path;
    assert_eq!(offers, "/v1/offers?count=2&gpu=x&max_price=9.5&min_vram=40&plan=spot");
}

#[test]
fn a_project_is_asked_for_and_its_quota_refuses_with_3() {
    let server = Server::start();
    let words = "the quota of the project `vision` is 1 cards: 1 used, 1 more asked for";
    let refusal = Error::new(Cause::QuotaExceeded, words).hint("ask an owner or admin of this account");
    server.plan().refuse = Some(("/v1/instances", refusal));
    let ran = server.run(&[RENT, &["--project", "vision"]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    assert_eq!(ran.err, format!("refused (quota-exceeded): {words}\nhint: ask an owner or admin of this account\n"));
    assert_eq!(server.asked("POST", "/v1/instances")[0].body["project"], "vision");
    let ran = server.run(&["run", "--gpu", "RTX 4090", "--project", "speech", "--json", "--", "true"]);
    assert_eq!(ran.code, 3);
    assert_eq!(server.asked("POST", "/v1/instances")[1].body["project"], "speech");
    server.plan().refuse = None;
    assert!(server.run(RENT).code == 0 && server.asked("POST", "/v1/instances")[2].body.get("project").is_none());
    server.run(&["ls", "--project", "a b"]);
    assert_eq!(server.asked("GET", "/v1/instances")[0].path.split_once('?').unwrap().1, "limit=200&project=a+b");
}

#[test]
fn quotas_of_a_project_are_set_where_they_belong() {
    let server = Server::start();
    let ran = server.run(&["account", "quota", "lab", "--project", "a/b ?", "--cards", "2", "--instances", "none"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    assert!(ran.out.contains("cards of rtx-4090-24g"), "{ran:?}");
    let put = &server.asked("PUT", "/v1/accounts")[0];
    assert_eq!(put.path, "/v1/accounts/lab/projects/a%2Fb%20%3F/quotas");
    // What is not named stays.
    assert_eq!((&put.body["cards_total"], &put.body["spend_per_day"]["amount"]), (&2.into(), &"50.00".into()));
    // A text that is no part of an address is refused before anything is asked.
    let before = server.plan().asked.len();
    let ran = server.run(&["account", "quota", "lab", "--project", "..", "--cards", "2"]);
    assert_eq!((ran.code, server.plan().asked.len()), (3, before));
    assert!(ran.err.starts_with("refused (invalid-name)"), "{ran:?}");
}
