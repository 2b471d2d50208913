//! The API keeps what its document promises, whatever an ordinary user sends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]

use std::process::Command;

use e2e::{Job, Site};

/// Answers without end, and the one that would take the token away.
const LEFT_OUT: &str = "/v1/events$|/stream$|/v1/logout";

#[test]
fn no_request_of_an_ordinary_user_breaks_the_server_or_gets_an_undocumented_answer() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let mut command = Command::new("schemathesis");
    command.args(["run", &format!("{}/openapi.json", site.url), "--no-color", "--request-timeout", "20"]);
    command.args(["-H", &format!("Authorization: Bearer {}", renter.token())]);
    let checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
    command.args(["--checks", checks, "--phases", "examples,coverage,fuzzing", "--max-examples", "10", "--seed", "7"]);
    command.args(["--exclude-path-regex", LEFT_OUT]);
    // It keeps notes where it runs.
    command.current_dir(&renter.home);
    let ran = Job::start(command, &renter.home).finish();
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("Test cases:"), "{}", ran.out);
    site.audit();
}
