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
