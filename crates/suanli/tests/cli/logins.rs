//! Signing in.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use super::server::{Ran, Server};

fn log_in(server: &Server, password: &str, more: &[&str]) -> Ran {
    let args = [&["login", &server.url, "--user", "ann", "--password-stdin"], more].concat();
    let mut child =
        server.bare(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(password.as_bytes()).unwrap();
    Ran::of(child.wait_with_output().unwrap())
}

#[test]
fn a_login_is_saved_for_its_owner_alone_used_and_forgotten() {
    let server = Server::start();
    let ran = log_in(&server, " correct horse \n", &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("as ann until 2026-03-02 04:00:00 Asia/Shanghai"), "{}", ran.out);
    let file = server.here().join("config/suanli/login.toml");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(server.bare(&["whoami"]).output().unwrap().status.code(), Some(0));
    assert_eq!(server.asked("GET", "/whoami")[0].token.as_deref(), Some("Bearer fresh-token"));
    // Another server must not see this token.
    let other = Server::start();
    assert_eq!(server.bare(&["whoami"]).env("SUANLI_URL", &other.url).output().unwrap().status.code(), Some(0));
    assert_eq!(other.asked("GET", "/whoami")[0].token, None);
    assert_eq!(server.bare(&["logout"]).output().unwrap().status.code(), Some(0));
    assert!(!file.exists());
    assert_eq!(server.asked("POST", "/logout")[0].token.as_deref(), Some("Bearer fresh-token"));
    assert_eq!(server.bare(&["whoami"]).output().unwrap().status.code(), Some(5));
}

#[test]
fn a_token_is_never_printed() {
    let server = Server::start();
    let ran = log_in(&server, " correct horse \n", &["--json"]);
    assert_eq!(ran.json()["user"]["name"], "ann");
    assert!(!ran.out.contains("fresh-token") && !ran.err.contains("fresh-token"));
}

#[test]
fn a_wrong_password_saves_nothing() {
    let server = Server::start();
    let ran = log_in(&server, "guess\n", &[]);
    assert_eq!(ran.code, 5);
    assert!(!server.here().join("config/suanli/login.toml").exists());
}

#[test]
fn a_password_comes_from_a_file_too() {
    let server = Server::start();
    let file = server.here().join("password");
    std::fs::write(&file, " correct horse \nanything else").unwrap();
    let args = ["login", &server.url, "--user", "ann", "--password-file", file.to_str().unwrap()];
    assert_eq!(server.bare(&args).output().unwrap().status.code(), Some(0));
    let ran = Ran::of(server.bare(&["login", &server.url, "--user", "ann"]).output().unwrap());
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("--password-stdin"), "{ran:?}");
}

#[test]
fn a_server_that_is_away_does_not_keep_anybody_signed_in() {
    let server = Server::start();
    log_in(&server, " correct horse \n", &[]);
    server.plan().refuse = Some(("/logout", base::Error::new(base::Cause::Unavailable, "resting")));
    let ran = Ran::of(server.bare(&["logout"]).output().unwrap());
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("could not be taken back") && ran.err.contains("resting"), "{ran:?}");
    assert!(!server.here().join("config/suanli/login.toml").exists());
}

fn with_input(server: &Server, args: &[&str], input: &str) -> Ran {
    let mut child =
        server.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Ran::of(child.wait_with_output().unwrap())
}

#[test]
fn a_second_factor_is_asked_for_and_given() {
    let server = Server::start();
    let args = |more: &[&'static str]| {
        let mut args = vec!["login", server.url.as_str(), "--user", "two", "--password-stdin"];
        args.extend(more);
        with_input(&server, &args, " correct horse \n")
    };
    let ran = args(&[]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.err.contains("--code"), "{ran:?}");
    let ran = args(&["--code", "123456"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = server.asked("POST", "/login");
    assert_eq!((asked[0].body.get("code"), &asked[1].body["code"]), (None, &serde_json::json!("123456")));
}

#[test]
fn signing_out_everywhere_says_so_to_the_server() {
    let server = Server::start();
    log_in(&server, " correct horse \n", &[]);
    let args = ["logout", "--everywhere", "--tokens"];
    assert_eq!(server.bare(&args).output().unwrap().status.code(), Some(0));
    assert_eq!(server.asked("POST", "/logout-everywhere")[0].body["tokens"], true);
    assert!(!server.here().join("config/suanli/login.toml").exists());
}

#[test]
fn a_password_is_changed_without_being_shown() {
    let server = Server::start();
    let ran = with_input(&server, &["password", "--password-stdin"], "old one\nnew one, longer\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let body = &server.asked("POST", "/password")[0].body;
    assert_eq!((&body["old"], &body["new"]), (&"old one".into(), &"new one, longer".into()));
    assert!(!ran.out.contains("longer") && !ran.err.contains("longer"));
    assert_eq!(server.run(&["password"]).code, 3, "there is no terminal");
}

#[test]
fn a_second_factor_begins_and_ends() {
    let server = Server::start();
    let ran = server.run(&["totp", "enable"]);
    assert!(ran.out.contains("ABCDEF") && ran.out.contains("totp confirm"), "{ran:?}");
    let ran = server.run(&["totp", "confirm", "123456"]);
    assert!(ran.out.contains("aaaa-bbbb") && ran.out.contains("cccc-dddd"), "{ran:?}");
    assert_eq!(server.asked("POST", "/totp/confirm")[0].body["code"], "123456");
    let ran = with_input(&server, &["totp", "disable", "--password-stdin", "--code", "654321"], "secret\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let body = &server.asked("POST", "/totp/remove")[0].body;
    assert_eq!((&body["password"], &body["code"]), (&"secret".into(), &"654321".into()));
}

#[test]
fn the_site_is_set_by_keys_and_secrets_come_by_standard_input() {
    let server = Server::start();
    let ran = server.run(&["site", "show"]);
    for part in ["smtps://gpu@mail.example", "Lab ID at https://id.example as suanli, secret set (not shown)"] {
        assert!(ran.out.contains(part), "{}", ran.out);
    }
    let args =
        ["site", "set", "sign_up", "email", "approval", "yes", "mail.url", "-", "oidc.other", "https://o.example cid"];
    let ran = with_input(&server, &args, "smtps://u:hush@m.example\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let body = &server.asked("PUT", "/site/settings")[0].body;
    assert_eq!((&body["sign_up"], &body["approval"]), (&"email".into(), &true.into()));
    assert_eq!(body["mail"], serde_json::json!({ "url": "smtps://u:hush@m.example" }));
    // The provider that is there stays, with the secret that only the server knows.
    assert_eq!(body["providers"][0]["id"], "lab");
    assert_eq!(body["providers"][0].get("client_secret"), None);
    assert_eq!(
        body["providers"][1],
        serde_json::json!({ "id": "other", "issuer": "https://o.example", "client_id": "cid" })
    );
    for (args, word) in
        [(["colour", "red"], "no key"), (["approval", "maybe"], "yes or no"), (["oidc.x", "https://o"], "client_id")]
    {
        let ran = server.run(&["site", "set", args[0], args[1]]);
        assert!(ran.code == 3 && ran.err.contains(word), "{ran:?}");
    }
}
