//! People, their keys and rights, through the command line and a true server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]

use std::io::Write;
use std::process::{Command, Stdio};

use e2e::{Person, Ran, Site, eventually, text};
use serde_json::Value;
use totp_rs::{Algorithm, Secret, TOTP};

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILxWpDLVzHSQbv5TOSV/hXD+MRB3NFoKRDnJTeR8ngiK me@laptop\n";

/// Runs a verb that must be refused; what it said.
fn refused(person: &Person, words: &[&str], code: i32, cause: &str) -> Value {
    let ran = person.run(&[&["--json"], words].concat());
    assert_eq!((ran.code, ran.cause().as_str()), (code, cause), "{ran:?}");
    // People read the same.
    assert!(ran.err.contains(cause), "{ran:?}");
    ran.json()["error"].clone()
}

/// Runs a verb with something on its standard input.
fn fed(person: &Person, words: &[&str], input: &str) -> Ran {
    let mut child = person.command(words);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    let said = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = done.status.code().unwrap_or(-1);
    Ran { code, out: said(done.stdout), err: said(done.stderr), words: words.join(" ") }
}

/// The program with a token instead of a login.
fn with_token(site: &Site, token: &str, words: &[&str]) -> Ran {
    let program = Person::new("program", site.path("program"));
    let mut command = program.command(words);
    command.env("SUANLI_URL", &site.url).env("SUANLI_TOKEN", token);
    ran(&mut command)
}

fn ran(command: &mut Command) -> Ran {
    let done = command.output().unwrap();
    let said = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let words = format!("{command:?}");
    Ran { code: done.status.code().unwrap_or(-1), out: said(done.stdout), err: said(done.stderr), words }
}

/// The same person on another machine.
fn elsewhere(site: &Site, person: &Person) -> Person {
    let other = Person::new(&person.name, site.path("elsewhere"));
    other.sign_in(&site.url, &person.password());
    other
}

#[test]
fn an_owner_invites_a_member_and_removes_him() {
    let site = Site::start();
    let (owner, guest) = (site.renter("alpha", "100"), site.renter("beta", "0"));
    let of = ["--account", owner.account.as_str()];
    let member = |words: &[&'static str]| [&["member"], words, &of].concat();
    // The link alone is printed, for scripts.
    let link = owner.ok(&["member", "invite", "--role", "viewer"]);
    assert!(link.starts_with("http") && link.contains("#inv_") && link.lines().count() == 1, "{link}");
    assert!(owner.ok(&["member", "ls"]).contains("whoever has the link"));
    refused(&guest, &member(&["ls"]), 4, "not-found");
    assert!(guest.ok(&["member", "accept", link.trim()]).contains("you are viewer of alpha"));
    refused(&guest, &["member", "accept", link.trim()], 4, "not-found");
    // He has two accounts now and has to say which.
    refused(&guest, &["member", "ls"], 3, "ambiguous-name");
    let list = guest.json(&member(&["ls"]));
    let role = |list: &Value, name: &str| {
        let found = list["items"].as_array().unwrap().iter().find(|m| m["user"]["name"] == name).cloned();
        found.map(|m| text(&m["role"]))
    };
    assert_eq!((role(&list, "alpha").as_deref(), role(&list, "beta").as_deref()), (Some("owner"), Some("viewer")));
    refused(&guest, &member(&["role", "beta", "owner"]), 5, "forbidden");
    refused(&guest, &["rent", "--gpu", "T4", "--account", &owner.account], 5, "forbidden");
    refused(&owner, &["member", "role", "beta", "boss"], 3, "invalid-request");
    refused(&owner, &["member", "role", "nobody", "viewer"], 4, "not-found");
    assert_eq!(owner.ok(&["member", "role", "beta", "member"]), "beta is member now\n");
    refused(&owner, &["member", "rm", "alpha"], 3, "wrong-state");
    // An invitation that is taken back opens nothing.
    let invited = owner.json(&["member", "invite", "--email", "wei@example.org"]);
    assert_eq!(owner.json(&["member", "rm", &text(&invited["id"])])["removed"], invited["id"]);
    refused(&guest, &["member", "accept", &text(&invited["link"])], 4, "not-found");
    assert_eq!(owner.ok(&["member", "rm", "beta"]), "beta is removed\n");
    refused(&guest, &member(&["ls"]), 4, "not-found");
    assert_eq!(role(&owner.json(&["member", "ls"]), "beta"), None);
}

#[test]
fn a_token_is_shown_once_and_does_what_its_scope_says() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let token = renter.ok(&["token", "create", "--name", "ci", "--scope", "read", "--days", "3"]);
    let token = token.trim();
    assert!(token.starts_with("suanli_") && !token.contains(char::is_whitespace), "{token}");
    let list = renter.json(&["token", "ls"]);
    assert!(!list.to_string().contains(token));
    assert_eq!((list["items"][0]["name"].as_str(), list["items"][0]["scopes"][0].as_str()), (Some("ci"), Some("read")));
    assert!(renter.ok(&["token", "ls"]).contains("ci"));
    assert_eq!(with_token(&site, token, &["ls"]).code, 0);
    assert!(with_token(&site, token, &["whoami"]).ok().out.contains("token for"));
    let denied = with_token(&site, token, &["rent", "--gpu", "T4", "--json"]);
    assert_eq!((denied.code, denied.cause().as_str()), (5, "forbidden"));
    let denied = with_token(&site, token, &["token", "create", "--name", "x", "--scope", "read", "--json"]);
    assert_eq!((denied.code, denied.cause().as_str()), (5, "forbidden"), "a token makes no tokens");
    let create = |more: &[&'static str]| [&["token", "create", "--name", "x"], more].concat();
    refused(&renter, &create(&["--scope", "everything"]), 3, "invalid-request");
    refused(&renter, &create(&["--scope", "read", "--days", "-1"]), 3, "invalid-request");
    refused(&renter, &create(&["--scope", "read", "--account", "nobody"]), 4, "not-found");
    assert_eq!(renter.run(&["token", "create", "--name", "x"]).code, 2);
    let id = text(&list["items"][0]["id"]);
    assert!(renter.ok(&["token", "rm", &id]).contains("works no more"));
    refused(&renter, &["token", "rm", &id], 4, "not-found");
    assert_eq!(with_token(&site, token, &["whoami"]).code, 5);
}

#[test]
fn sessions_and_keys_are_ones_own() {
    let site = Site::start();
    let renter = site.renter("alpha", "0");
    let other = elsewhere(&site, &renter);
    let list = renter.json(&["session", "ls"]);
    let items = list["items"].as_array().unwrap();
    assert_eq!((items.len(), items.iter().filter(|s| s["current"] == true).count()), (2, 1));
    assert!(renter.ok(&["session", "ls"]).contains("(this one)"));
    let id = text(&items.iter().find(|s| s["current"] == false).unwrap()["id"]);
    // What is open there ends with the session.
    let mut follows = other.start(&["events", "--follow"]);
    assert!(follows.runs());
    refused(&site.operator, &["session", "rm", &id], 4, "not-found");
    assert_eq!(renter.json(&["session", "rm", &id])["ended"], id.as_str());
    refused(&renter, &["session", "rm", &id], 4, "not-found");
    assert_eq!(follows.finish().code, 5);
    refused(&other, &["whoami"], 5, "unauthenticated");
    refused(&renter, &["session", "rm", "nonsense"], 4, "not-found");

    let (public, private) = (site.path("id.pub"), site.path("id"));
    std::fs::write(&public, KEY).unwrap();
    std::fs::write(&private, "-----BEGIN OPENSSH PRIVATE KEY-----\n").unwrap();
    let (public, private) = (public.to_str().unwrap(), private.to_str().unwrap());
    assert!(renter.ok(&["key", "ls"]).contains("no keys"));
    assert!(renter.ok(&["key", "add", public]).contains("SHA256:"));
    refused(&renter, &["key", "add", public], 3, "already-exists");
    refused(&renter, &["key", "add", private], 3, "invalid-request");
    let keys = renter.json(&["key", "ls"]);
    assert_eq!(keys["items"][0]["name"], "me@laptop");
    let id = text(&keys["items"][0]["id"]);
    refused(&site.operator, &["key", "rm", &id], 4, "not-found");
    renter.ok(&["key", "rm", &id]);
    refused(&renter, &["key", "rm", &id], 4, "not-found");
    assert_eq!(fed(&renter, &["key", "add", "-", "--name", "piped"], KEY).ok().code, 0);
    assert!(renter.ok(&["key", "ls"]).contains("piped"));
}

#[test]
fn an_operator_manages_users() {
    let site = Site::start();
    let (operator, renter) = (&site.operator, site.renter("alpha", "0"));
    refused(&renter, &["user", "ls"], 5, "forbidden");
    let names =
        |list: &Value| -> Vec<String> { list["items"].as_array().unwrap().iter().map(|u| text(&u["name"])).collect() };
    assert_eq!(names(&operator.json(&["user", "ls", "alp"])), ["alpha"]);
    assert!(operator.ok(&["user", "ls", "--state", "active"]).contains("alpha (owner)"));
    refused(operator, &["user", "ls", "--state", "odd"], 3, "invalid-request");
    assert_eq!(operator.json(&["user", "disable", "alpha"])["state"], "disabled");
    refused(&renter, &["whoami"], 5, "unauthenticated");
    refused(operator, &["user", "disable", "alpha"], 3, "wrong-state");
    refused(operator, &["user", "disable", "nobody"], 4, "not-found");
    refused(operator, &["user", "disable", "operator"], 3, "wrong-state");
    assert!(operator.ok(&["user", "ls", "--state", "disabled"]).contains("alpha"));
    operator.ok(&["user", "enable", "alpha"]);
    // He signs in anew.
    refused(&renter, &["whoami"], 5, "unauthenticated");
    renter.sign_in(&site.url, &renter.password());
    let old = renter.password();
    let given = operator.json(&["user", "password", "alpha"]);
    refused(&renter, &["whoami"], 5, "unauthenticated");
    renter.sign_in(&site.url, &text(&given["password"]));
    std::fs::write(site.path("old"), old).unwrap();
    let path = site.path("old");
    let login = ["login", &site.url, "--user", "alpha", "--password-file", path.to_str().unwrap()];
    refused(&Person::new("x", site.path("x")), &login, 5, "unauthenticated");
    refused(operator, &["user", "role", "alpha", "boss"], 3, "invalid-request");
    assert_eq!(operator.json(&["user", "role", "alpha", "auditor"])["operator_role"], "auditor");
    assert!(renter.ok(&["user", "ls"]).contains("operator"));
    refused(&renter, &["user", "disable", "operator"], 5, "forbidden");
    operator.ok(&["user", "role", "alpha", "none"]);
    refused(&renter, &["user", "ls"], 5, "forbidden");
    let link = operator.ok(&["user", "invite", "--credit", "5"]);
    assert!(link.contains("#inv_"), "{link}");
    refused(operator, &["user", "invite", "--credit", "much"], 3, "invalid-amount");
    refused(operator, &["user", "approve", "alpha"], 3, "wrong-state");
}

#[test]
fn a_quota_is_set_shown_and_explained_where_it_refuses() {
    let site = Site::start();
    let (operator, renter) = (&site.operator, site.renter("alpha", "100"));
    let set = ["account", "quota", &renter.account, "--cards", "2", "--gpu", "T4=0", "--spend-per-day", "9.50"];
    let quotas = operator.json(&set);
    assert_eq!(
        (quotas["quotas"]["cards_total"].as_i64(), &quotas["quotas"]["spend_per_day"]["amount"]),
        (Some(2), &"9.50".into())
    );
    let shown = renter.ok(&["account", "quota"]);
    assert!(shown.contains("AT MOST") && shown.contains("9.50"), "{shown}");
    let error = refused(&renter, &["rent", "--gpu", "T4", "--disk", "1"], 3, "quota-exceeded");
    assert!(text(&error["message"]).contains("0 cards of t4-16g") && error["hint"].is_string(), "{error}");
    refused(&renter, &["account", "quota", "--cards", "9"], 5, "forbidden");
    refused(operator, &["account", "quota", "nobody"], 4, "not-found");
    refused(operator, &["account", "quota", &renter.account, "--cards", "many"], 3, "invalid-count");
    // What is not named stays; without the limit it is refused no more.
    let quotas = operator.json(&["account", "quota", &renter.account, "--gpu", "T4=none"]);
    assert_eq!(quotas["quotas"]["cards_total"], 2);
    let id = renter.rent("T4", &[]);
    renter.ok(&["release", &id, "--yes", "--wait"]);
    site.assert_nothing_left();
}

#[test]
fn the_audit_log_says_who_did_what() {
    let site = Site::start();
    let (operator, renter) = (&site.operator, site.renter("alpha", "3"));
    refused(&renter, &["audit-log"], 5, "forbidden");
    refused(&renter, &["user", "disable", "operator"], 5, "forbidden");
    let found = operator.json(&["audit-log", "--action", "top_up"]);
    let entry = &found["items"][0];
    assert_eq!((&entry["actor"]["name"], &entry["object"]), (&"operator".into(), &renter.account.as_str().into()));
    let refusals = operator.ok(&["audit-log", "--actor", "alpha", "--action", "disable_user"]);
    assert!(refusals.contains("refused: forbidden"), "{refusals}");
    assert_eq!(operator.json(&["audit-log", "--limit", "1"])["items"].as_array().unwrap().len(), 1);
    assert!(operator.ok(&["audit-log", "--object", "nothing"]).contains("no such entries"));
    assert!(operator.ok(&["audit-log", "--check"]).contains("each follows from the one before"));
    let file = site.path("log.jsonl");
    let done = operator.json(&["audit-log", "--export", file.to_str().unwrap()]);
    let lines: Vec<Value> =
        std::fs::read_to_string(&file).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(done["entries"].as_u64(), u64::try_from(lines.len()).ok());
    assert!(lines.iter().any(|l| l["action"] == "top_up") && lines.len() > 4, "{lines:?}");
    refused(&renter, &["audit-log", "--export", file.to_str().unwrap()], 5, "forbidden");
    assert!(file.exists(), "what is refused replaces nothing");
    assert!(operator.ok(&["audit-log", "--keep-days", "400"]).contains("400 days"));
    refused(operator, &["audit-log", "--keep-days", "some"], 3, "invalid-count");
}

#[test]
fn the_site_is_set_and_its_secrets_are_never_shown() {
    let site = Site::start();
    let (operator, renter) = (&site.operator, site.renter("alpha", "0"));
    refused(&renter, &["site", "show"], 5, "forbidden");
    let words = [
        "site",
        "set",
        "name",
        "Lab",
        "sign_up",
        "closed",
        "mail.url",
        "-",
        "mail.from",
        "gpu@mail.example",
        "oidc.lab",
        "-",
    ];
    let secrets = "smtps://gpu:hush-mail@mail.example\nhttps://id.example cid hush-oidc Lab ID\n";
    let set = fed(operator, &words, secrets).ok();
    for shown in [set.out, operator.ok(&["site", "show"]), operator.ok(&["site", "show", "--json"])] {
        assert!(shown.contains("Lab") && shown.contains("mail.example") && shown.contains("id.example"), "{shown}");
        assert!(!shown.contains("hush"), "{shown}");
    }
    // A later change of something else keeps them.
    operator.ok(&["site", "set", "approval", "yes"]);
    let settings = operator.json(&["site", "show"]);
    assert_eq!(
        (&settings["approval"], &settings["providers"][0]["client_secret"]["set"]),
        (&true.into(), &true.into())
    );
    refused(operator, &["site", "set", "colour", "red"], 3, "invalid-request");
    refused(operator, &["site", "set", "sign_up", "sometimes"], 3, "invalid-request");
    refused(&renter, &["site", "set", "name", "Mine"], 5, "forbidden");
    assert!(!operator.ok(&["audit-log", "--json"]).contains("hush"));
}

/// What an authenticator app shows now.
fn code(secret: &str) -> String {
    let key = Secret::Encoded(secret.to_owned()).to_bytes().unwrap();
    TOTP::new(Algorithm::SHA1, 6, 0, 30, key).unwrap().generate_current().unwrap()
}

#[test]
fn a_password_changes_and_a_second_factor_is_asked_for() {
    let site = Site::start();
    let (renter, forgetful) = (site.renter("alpha", "0"), site.renter("beta", "0"));
    let other = elsewhere(&site, &renter);
    let (old, new) = (renter.password(), "a longer password of mine");
    let weak = fed(&renter, &["password", "--password-stdin", "--json"], &format!("{old}\nshort\n"));
    assert_eq!((weak.code, weak.cause().as_str()), (3, "weak-password"));
    let wrong = fed(&renter, &["password", "--password-stdin", "--json"], &format!("wrong\n{new}\n"));
    assert_eq!(wrong.code, 5, "{wrong:?}");
    let done = fed(&renter, &["password", "--password-stdin"], &format!("{old}\n{new}\n")).ok();
    assert!(done.out.contains("other sessions have ended"));
    renter.ok(&["whoami"]);
    refused(&other, &["whoami"], 5, "unauthenticated");
    renter.sign_in(&site.url, new);

    let enabled = |who: &Person| {
        let secret = text(&who.json(&["totp", "enable"])["secret"]);
        let good = code(&secret);
        let bad = if good == "000000" { "000001" } else { "000000" };
        refused(who, &["totp", "confirm", bad], 5, "forbidden");
        who.json(&["totp", "confirm", &code(&secret)])["recovery_codes"].clone()
    };
    let codes = enabled(&renter);
    let path = renter.home.join("password");
    let login = ["login", &site.url, "--user", "alpha", "--password-file", path.to_str().unwrap()];
    let error = refused(&renter, &login, 5, "second-factor-needed");
    assert!(text(&error["hint"]).contains("--code"), "{error}");
    refused(&renter, &[&login[..], &["--code", "12345"]].concat(), 5, "second-factor-wrong");
    let recovery = text(&codes[0]);
    renter.ok(&[&login[..], &["--code", &recovery]].concat());
    refused(&renter, &[&login[..], &["--code", &recovery]].concat(), 5, "second-factor-wrong");
    let second = text(&codes[1]);
    let disable = ["totp", "disable", "--password-stdin", "--json", "--code", &second];
    assert_eq!(fed(&renter, &disable, "wrong\n").code, 5);
    fed(&renter, &disable, &format!("{new}\n")).ok();
    renter.sign_in(&site.url, new);

    // Who has lost his is helped by the operator.
    enabled(&forgetful);
    refused(&renter, &["user", "remove-totp", "beta"], 5, "forbidden");
    site.operator.ok(&["user", "remove-totp", "beta"]);
    forgetful.sign_in(&site.url, &forgetful.password());
}

#[test]
fn a_changed_rule_stops_what_runs() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let id = renter.rent("T4", &["--stop-after", "8h"]);
    let view = renter.json(&["rule", "set", &id, "--stop-idle", "30m", "--budget", "50"]);
    assert_eq!((&view["stop_rules"]["idle"], &view["stop_rules"]["after"]), (&"30m".into(), &"8h".into()));
    assert_eq!(view["state"], "running");
    assert!(renter.ok(&["rule", "snooze", &id, "2h"]).contains("snoozed"));
    assert!(!renter.ok(&["rule", "snooze", &id, "off"]).contains("snoozed"));
    let view = renter.json(&["rule", "rm", &id, "budget"]);
    assert_eq!(view["stop_rules"].get("budget"), None);
    // Without a rule it only shows them.
    assert!(renter.ok(&["rule", "set", &id]).contains("30m"));
    refused(&renter, &["rule", "set", &id, "--budget", "0"], 3, "invalid-amount");
    refused(&renter, &["rule", "set", "nothing", "--stop-after", "1h"], 4, "not-found");
    refused(&site.renter("beta", "0"), &["rule", "rm", &id, "idle"], 4, "not-found");
    assert_eq!(renter.run(&["rule", "rm", &id, "colour"]).code, 2);
    assert_eq!(renter.events(&id, "rules-changed").len(), 4);
    renter.ok(&["rule", "set", &id, "--stop-idle", "5s", "--stop-after", "off"]);
    assert_eq!(renter.wait_for(&id, "stopped")["reason"]["code"], "idle");
}

/// The program inside of an instance: here the true agent's files of a true
/// instance, from where the server can be reached.
#[test]
fn inside_of_an_instance_its_own_token_serves() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    site.operator.ok(&["site", "set", "public_url", &site.url]);
    let (id, other) = (renter.rent("T4", &[]), renter.rent("A100", &[]));
    let folder = site.state().join("instances").join(&id).join("run");
    let nobody = Person::new("nobody", site.path("nobody"));
    let inside = |words: &[&str]| ran(nobody.command(words).env("SUANLI_RUN", &folder));
    assert_eq!(nobody.run(&["show"]).code, 2, "outside an instance has to be named");
    assert!(inside(&["show"]).ok().out.contains(&id));
    assert!(inside(&["whoami"]).ok().out.contains("this one"));
    assert_eq!(inside(&["whoami", "--json"]).json()["instance"]["id"], id.as_str());
    assert_eq!(inside(&["why", "--json"]).json()["id"], id.as_str());
    assert_eq!(inside(&["show", &other]).code, 4);
    for words in [&["ls"][..], &["balance"], &["release", &id, "--yes"]] {
        assert_eq!(inside(words).code, 5, "{words:?}");
    }
    // The token goes to its own server only.
    let elsewhere = ran(nobody.command(&["show"]).env("SUANLI_RUN", &folder).env("SUANLI_URL", "http://127.0.0.1:1"));
    assert_eq!(elsewhere.code, 6);
    inside(&["stop"]).ok();
    renter.wait_for(&id, "stopped");
    eventually("its token ends", || inside(&["show"]).code != 0);
    assert_eq!(renter.state(&other), "running");
}
