//! Exit statuses and how errors are told.

use base::{Cause, Error};

use super::server::Server;

#[test]
fn every_kind_of_error_has_its_exit_status() {
    let server = Server::start();
    for (cause, code) in [
        (Cause::NoCapacity, 3),
        (Cause::WrongState, 3),
        (Cause::UnknownGpu, 3),
        (Cause::NotFound, 4),
        (Cause::Unauthenticated, 5),
        (Cause::Forbidden, 5),
        (Cause::Unavailable, 6),
        (Cause::Internal, 6),
    ] {
        server.plan().refuse = Some(("/why", Error::new(cause, "the words").hint("the help").context("secret place")));
        let ran = server.run(&["why", "box"]);
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{cause}");
        assert_eq!(ran.err, format!("refused ({cause}): the words\nhint: the help\n"));
        let ran = server.run(&["why", "box", "--json"]);
        assert_eq!(ran.code, code);
        let expected = serde_json::json!({"error": {"code": cause, "message": "the words", "hint": "the help"}});
        assert_eq!(ran.json(), expected);
    }
}

#[test]
fn wrong_usage_is_2_and_never_reaches_the_server() {
    let server = Server::start();
    for args in [
        &["frobnicate"][..],
        &["rent"],
        &["rent", "--gpu", "x", "--count", "many"],
        &["rent", "--gpu", "x", "--env", "no-sign"],
        &["exec", "box"],
        &["cp", "a", "b"],
        &["top", "--interval", "soon"],
        &["show"],
    ] {
        assert_eq!(server.run(args).code, 2, "{args:?}");
    }
    assert!(server.plan().asked.is_empty());
}

#[test]
fn numbers_that_make_no_sense_reach_the_server_for_its_true_cause() {
    let server = Server::start();
    server.plan().refuse = Some(("/quotes", Error::new(Cause::InvalidCount, "a count below one")));
    for (flag, field) in [("--count", "count"), ("--memory", "memory_gib"), ("--cpus", "cpus"), ("--disk", "disk_gib")]
    {
        for number in ["0", "-5"] {
            let ran = server.run(&["quote", "--gpu", "RTX 4090", flag, number, "--json"]);
            assert_eq!(ran.code, 3);
            assert_eq!(ran.json()["error"]["code"], "invalid-count");
            let asked = server.asked("POST", "/quotes").pop().unwrap();
            assert_eq!(asked.body[field].to_string(), number);
        }
    }
    server.run(&["quote", "--gpu", "RTX 4090", "--budget", "-1"]);
    assert_eq!(server.asked("POST", "/quotes").pop().unwrap().body["rules"]["budget"], "-1");
    server.plan().refuse = Some(("/topups", Error::new(Cause::InvalidAmount, "no")));
    assert_eq!(server.run(&["account", "topup", "lab", "-3"]).code, 3);
    assert_eq!(server.asked("POST", "/topups").pop().unwrap().body["amount"], "-3");
}

#[test]
fn a_server_that_is_not_there_is_6_with_a_hint() {
    let server = Server::start();
    // A port that was free a moment ago and that nobody listens on now.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let output = server.bare(&["offers", "--json"]).env("SUANLI_URL", &url).output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["error"]["code"], "unavailable");
    assert!(said["error"]["hint"].as_str().unwrap().contains("is the server running?"));
    let output = server.bare(&["exec", "box", "--", "cat"]).env("SUANLI_URL", &url).output().unwrap();
    assert_eq!(output.status.code(), Some(6));
}

#[test]
fn without_a_login_the_way_to_one_is_told() {
    let ran = super::server::Ran::of(Server::start().bare(&["ls"]).output().unwrap());
    assert_eq!(ran.code, 5);
    assert!(ran.err.contains("refused (unauthenticated)") && ran.err.contains("suanli login URL"), "{ran:?}");
}

#[test]
fn holding_cards_is_refused_before_anything_is_stopped() {
    let server = Server::start();
    let ran = server.run(&["stop", "box", "--hold"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.starts_with("refused (not-offered):"));
    assert!(server.asked("POST", "/stop").is_empty());
}

#[test]
fn an_audit_that_differs_is_3_and_lists_the_differences() {
    let server = Server::start();
    assert_eq!(server.run(&["audit"]).code, 0);
    server.plan().differences = vec!["account acc-1: 5 instead of 6"];
    let ran = server.run(&["audit"]);
    assert_eq!(ran.code, 3);
    assert!(ran.out.contains("differs: account acc-1: 5 instead of 6"));
    let ran = server.run(&["audit", "--json"]);
    assert_eq!(ran.code, 3);
    assert_eq!(ran.json()["differences"][0], "account acc-1: 5 instead of 6");
    assert_eq!(ran.json()["error"]["code"], "internal");
}

#[test]
fn a_price_book_is_checked_without_a_server() {
    let server = Server::start();
    let book = server.here().join("book.toml");
    std::fs::write(&book, "name = 5\nnonsense = true\n").unwrap();
    let lint = |json: &str| {
        let args = ["price", "lint", book.to_str().unwrap(), json];
        super::server::Ran::of(server.bare(&args[..if json.is_empty() { 3 } else { 4 }]).output().unwrap())
    };
    let ran = lint("");
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("refused (invalid-price-book)"), "{ran:?}");
    let ran = lint("--json");
    assert_eq!(ran.code, 3);
    assert!(!ran.json()["errors"].as_array().unwrap().is_empty());
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../billing/data/demo-prices.toml"), &book).unwrap();
    let ran = lint("--json");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.json()["errors"], serde_json::json!([]));
    assert_eq!(server.bare(&["price", "lint", "/no/such/file"]).output().unwrap().status.code(), Some(4));
}

#[test]
fn a_reader_that_leaves_ends_the_program_quietly() {
    use std::process::Stdio;
    let server = Server::start();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ran = server.command(&["offers"]).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(ran.status.code(), Some(141));
    assert!(ran.stderr.is_empty());
}

#[test]
fn doctor_names_what_is_missing_and_how_to_mend_it() {
    let server = Server::start();
    let ran = server.run(&["doctor", "--json"]);
    let said = ran.json();
    let missing = said["checks"].as_array().unwrap().iter().filter(|c| c["state"] == "missing").count();
    assert_eq!(ran.code, if missing == 0 { 0 } else { 3 });
    assert_eq!(said["ok"], missing == 0);
    for check in said["checks"].as_array().unwrap() {
        assert_eq!(check["state"] == "ok", check.get("hint").is_none(), "{check}");
    }
    let names: Vec<_> = said["checks"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    for name in
        ["server", "version", "sign-in", "bwrap", "user namespaces", "cgroups: cpu", "ip", "nft", "disk", "GPUs"]
    {
        assert!(names.contains(&name), "{name} is not checked");
    }
    server.plan().refuse = Some(("/whoami", Error::new(Cause::Unauthenticated, "the token is over")));
    let ran = server.run(&["doctor"]);
    assert_eq!(ran.code, 3);
    assert!(ran.out.contains("the token is over"), "{ran:?}");
}
