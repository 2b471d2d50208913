//! What is refused: the exit status, the cause, and that nothing is left behind.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]

use e2e::{Person, Ran, Site, pids_with};

/// Runs a verb with `--json`; its exit status and cause.
fn refused(person: &Person, words: &[&str]) -> (i32, String) {
    let ran = person.run(&[&["--json"], words].concat());
    let cause = ran.cause();
    assert!(ran.err.contains(&cause), "the cause is told on standard error too: {ran:?}");
    (ran.code, cause)
}

fn assert_refused(person: &Person, words: &[&str], code: i32, cause: &str) {
    assert_eq!(refused(person, words), (code, cause.to_owned()), "{words:?}");
}

#[test]
fn bad_wishes_are_refused_with_their_cause_and_leave_nothing() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let rent = |more: &[&'static str]| [&["rent", "--disk", "1", "--wait"], more].concat();
    let cases: [(&[&str], &str); 20] = [
        (&["--gpu", "RTX 9999"], "unknown-gpu"),
        (&["--gpu", ""], "unknown-gpu"),
        (&["--gpu", "H100"], "ambiguous-gpu"),
        (&["--gpu", "RTX 5090"], "more-than-exist"),
        (&["--gpu", "T4", "--count", "0"], "invalid-count"),
        (&["--gpu", "T4", "--count", "-1"], "invalid-count"),
        (&["--gpu", "T4", "--count", "2"], "more-than-exist"),
        (&["--gpu", "T4", "--count", "9223372036854775807"], "more-than-exist"),
        (&["--gpu", "T4", "--name", "a\u{1b}[31mred"], "invalid-name"),
        (&["--gpu", "T4", "--name", "two\nlines"], "invalid-name"),
        (&["--gpu", "T4", "--name", ""], "invalid-name"),
        (&["--gpu", "T4", "--plan", "hourly"], "invalid-request"),
        (&["--gpu", "T4", "--plan", "year"], "not-offered"),
        (&["--gpu", "T4", "--isolation", "vm"], "not-offered"),
        (&["--gpu", "T4", "--isolation", "none"], "invalid-request"),
        (&["--gpu", "T4", "--stop-idle", "1s"], "invalid-request"),
        (&["--gpu", "T4", "--stop-after", "soon"], "invalid-request"),
        (&["--gpu", "T4", "--stop-at", "2020-01-01T00:00:00Z"], "invalid-request"),
        (&["--gpu", "T4", "--budget", "-1"], "invalid-amount"),
        (&["--gpu", "T4", "--budget", "much"], "invalid-amount"),
    ];
    for (wish, cause) in cases {
        assert_refused(&renter, &rent(wish), 3, cause);
        site.assert_nothing_left();
    }
    for (flag, value) in [("--memory", "-1"), ("--cpus", "-1"), ("--disk", "0"), ("--memory", "9223372036854775807")] {
        let ran = renter.run(&["--json", "rent", "--gpu", "T4", flag, value]);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(!ran.cause().is_empty());
        site.assert_nothing_left();
    }
    assert_eq!(renter.slugs(), Vec::<String>::new(), "nothing was ever rented");
    assert_eq!(site.free("T4"), 1);
    site.audit();
}

#[test]
fn wrong_usage_is_status_two() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let cases: [&[&str]; 7] = [
        &["rent"],
        &["rent", "--gpu", "T4", "--count", "many"],
        &["rent", "--gpu", "T4", "--env", "novalue"],
        &["nonsense"],
        &["run", "--gpu", "T4"],
        &["exec", "x"],
        &["cp", "here", "there"],
    ];
    for words in cases {
        let ran = renter.run(words);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.starts_with("error: "), "{ran:?}");
    }
    site.assert_nothing_left();
}

#[test]
fn money_that_is_no_money_is_refused() {
    let site = Site::start();
    let renter = site.renter("alpha", "0");
    for (amount, cause) in [
        ("-5", "invalid-amount"),
        ("0", "invalid-amount"),
        ("ten", "invalid-amount"),
        ("1e9", "invalid-amount"),
        ("0.0000001", "invalid-amount"),
        ("99999999999999999999", "invalid-amount"),
    ] {
        let words = ["account", "topup", renter.account.as_str(), amount];
        assert_refused(&site.operator, &words, 3, cause);
    }
    assert_refused(&site.operator, &["account", "topup", "acc-none", "5"], 4, "not-found");
    assert_eq!(renter.json(&["balance"])["posted"]["micros"], 0);
    assert_refused(&renter, &["rent", "--gpu", "T4", "--disk", "1"], 3, "not-enough-funds");
    site.operator.ok(&["account", "topup", &renter.account, "0.01"]);
    assert_refused(&renter, &["rent", "--gpu", "T4", "--disk", "1"], 3, "not-enough-funds");
    site.assert_nothing_left();
    site.audit();
}

#[test]
fn a_price_book_with_a_typing_error_is_not_loaded() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let before = site.operator.json(&["price", "show"]);
    let text = before["text"].as_str().unwrap();
    let file = site.path("prices.toml");
    let path = file.to_string_lossy().into_owned();
    for (right, wrong) in
        [("on_demand = \"0.80\"", "on_demnd = \"0.80\""), ("\"0.80\"", "\"0,80\""), ("[[model]]", "[[model]")]
    {
        let broken = text.replacen(right, wrong, 1);
        assert_ne!(broken, text, "`{right}` is in the book");
        std::fs::write(&file, broken).unwrap();
        let lint = site.operator.run(&["--json", "price", "lint", &path]);
        assert_eq!((lint.code, lint.cause().as_str()), (3, "invalid-price-book"), "{lint:?}");
        assert!(!lint.json()["errors"].as_array().unwrap().is_empty(), "{lint:?}");
        assert_refused(&site.operator, &["price", "load", &path], 3, "invalid-price-book");
    }
    assert_refused(&site.operator, &["price", "load", "/no/such/file"], 4, "not-found");
    std::fs::write(&file, text.replacen("\"0.80\"", "\"0.90\"", 1)).unwrap();
    assert_refused(&renter, &["price", "load", &path], 5, "forbidden");
    assert_eq!(site.operator.json(&["price", "show"])["version"], before["version"], "the old book is in force");
    let good = site.operator.json(&["price", "load", &path]);
    assert_ne!(good["version"], before["version"]);
}

#[test]
fn what_is_not_there_is_status_four() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    for id in ["ins-00000000000000000000000000", "nobody", "a b", ""] {
        for verb in ["show", "events", "why", "stop", "start"] {
            assert_refused(&renter, &[verb, id], 4, "not-found");
        }
        assert_refused(&renter, &["release", id, "--yes"], 4, "not-found");
        assert_eq!(renter.run(&["exec", id, "--", "true"]).code, 4, "`{id}`");
    }
}

#[test]
fn who_may_not_is_status_five() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let nobody = Person::new("nobody", site.path("nobody"));
    let elsewhere = |words: &[&str], variables: &[(&str, &str)]| -> Ran {
        let mut command = nobody.command(&[&["--json"], words].concat());
        command.envs(variables.iter().copied());
        e2e::Job::start(command, &nobody.home).finish()
    };
    // No login at all, and a token that is none.
    let ran = elsewhere(&["ls"], &[]);
    assert_eq!((ran.code, ran.cause().as_str()), (5, "unauthenticated"), "{ran:?}");
    let ran = elsewhere(&["ls"], &[("SUANLI_URL", &site.url), ("SUANLI_TOKEN", "made-up")]);
    assert_eq!((ran.code, ran.cause().as_str()), (5, "unauthenticated"), "{ran:?}");
    // A wrong password, and a user that does not exist: the same words.
    let file = site.path("wrong");
    std::fs::write(&file, "wrong").unwrap();
    let path = file.to_string_lossy().into_owned();
    let wrong = elsewhere(&["login", &site.url, "--user", "alpha", "--password-file", &path], &[]);
    let unknown = elsewhere(&["login", &site.url, "--user", "nobody", "--password-file", &path], &[]);
    assert_eq!((wrong.code, wrong.cause().as_str()), (5, "unauthenticated"), "{wrong:?}");
    assert_eq!(wrong.out, unknown.out, "an answer that tells whether a user exists");
    // A login that was given back.
    renter.ok(&["logout"]);
    assert_refused(&renter, &["ls"], 5, "unauthenticated");
}

#[test]
fn a_server_that_is_down_is_status_six() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let id = renter.rent("T4", &[]);
    site.kill_server();
    for words in [
        &["ls"][..],
        &["show", &id],
        &["offers"],
        &["rent", "--gpu", "L40S", "--disk", "1"],
        &["release", &id, "--yes"],
    ] {
        assert_refused(&renter, words, 6, "unavailable");
    }
    assert_eq!(renter.run(&["exec", &id, "--", "true"]).code, 6);
    site.restart();
    renter.ok(&["release", &id, "--yes", "--wait"]);
    site.assert_nothing_left();
    assert_eq!(renter.slugs().len(), 1);
}

#[test]
fn two_servers_do_not_share_a_folder_or_an_address() {
    let site = Site::start();
    let data = site.data().to_string_lossy().into_owned();
    let before = pids_with(&["serve", "--data", &data]);
    let other = site.path("other").to_string_lossy().into_owned();
    let state = site.path("other-agent").to_string_lossy().into_owned();
    let listen = site.url.strip_prefix("http://").unwrap().to_owned();
    let mut command = site.operator.command(&[
        "serve",
        "--data",
        &other,
        "--agent-state",
        &state,
        "--listen",
        &listen,
        "--network",
        "closed",
        "--fake-gpus",
        "mixed-lab",
        "--first-user",
        "99000000",
        "--subnet",
        "172.31.255.0/27",
    ]);
    // Its usual place is one for the whole machine.
    command.env("SUANLI_SECRET_KEY_FILE", site.path("other.key"));
    let second = e2e::Job::start(command, &site.operator.home).finish();
    assert_eq!(second.code, 6, "{second:?}");
    assert!(second.err.contains("cannot be used"), "{second:?}");
    assert_eq!(pids_with(&["agent", "--state", &state]), Vec::<i32>::new(), "its agent ended with it");
    assert_eq!(pids_with(&["serve", "--data", &data]), before);
    site.operator.ok(&["node", "ls"]);
}
