//! Whether a server can run here, whether the one that is used answers, and how
//! to mend what is missing.

mod host;

use base::{Cause, Error};
use clap::Args;
use serde::Serialize;

use super::{Failure, Outcome};
use crate::login_file;
use crate::output::{Cell, Output, Style, Table, error_object, json, print};

/// Check this host and the server, and say how to mend what is missing
///
/// Exit status 0 when a server can run here and the server of the saved login,
/// if there is one, answers.
#[derive(Debug, Args)]
pub struct Doctor {}

/// How one thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// Works without it, but less well; the hint says what is lost.
    Optional,
    /// Nothing works without it.
    Missing,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What.
    pub name: String,
    /// How it is.
    pub state: State,
    /// What was found.
    pub detail: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Check {
    /// Something that is as it should be.
    pub fn ok(name: &str, detail: impl Into<String>) -> Self {
        Self { name: name.into(), state: State::Ok, detail: detail.into(), hint: None }
    }

    /// Something that is not.
    pub fn bad(name: &str, state: State, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { name: name.into(), state, detail: detail.into(), hint: Some(hint.into()) }
    }
}

impl Doctor {
    pub async fn run(self, out: &Output) -> Outcome {
        let mut checks = server().await;
        let host = tokio::task::spawn_blocking(host::checks).await;
        checks.extend(host.map_err(|e| Error::new(Cause::Internal, "the checks broke off").context(e))?);
        let missing: Vec<&str> =
            checks.iter().filter(|check| check.state == State::Missing).map(|check| check.name.as_str()).collect();
        let error = (!missing.is_empty()).then(|| {
            Error::new(Cause::HostIncomplete, format!("missing: {}", missing.join(", ")))
                .hint("mend what the lines above name, then check again")
        });
        if out.json {
            let mut value = serde_json::json!({ "ok": error.is_none(), "checks": checks });
            if let Some(error) = &error {
                value["error"] = error_object(error);
            }
            json(&value);
        } else {
            print(&words(&checks, out));
        }
        match error {
            None => Ok(0),
            Some(error) if out.json => Err(Failure::shown(error)),
            Some(error) => Err(Failure::refused(error)),
        }
    }
}

/// The server that the environment or the saved login names, if any.
async fn server() -> Vec<Check> {
    let client = match login_file::client() {
        Ok(client) => client,
        Err(error) if error.cause() == Cause::Unauthenticated => return Vec::new(),
        Err(error) => return vec![failed("login", &error)],
    };
    let url = client.url();
    let mut checks = Vec::new();
    match client.healthz().await {
        Ok(()) => checks.push(Check::ok("server", format!("{url} answers"))),
        Err(error) => return vec![failed("server", &error)],
    }
    match client.readyz().await {
        Ok(()) => checks.push(Check::ok("readiness", "it can do its work")),
        Err(error) => checks.push(failed("readiness", &error)),
    }
    match client.server_version().await {
        Ok(Some(version)) if version == env!("CARGO_PKG_VERSION") => checks.push(Check::ok("version", version)),
        Ok(None) => checks.push(Check::bad(
            "version",
            State::Optional,
            "the server does not tell its version",
            "a proxy before it may hide the header `Server`",
        )),
        Ok(Some(version)) => checks.push(Check::bad(
            "version",
            State::Optional,
            format!("the server is {version}, this program is {}", env!("CARGO_PKG_VERSION")),
            "use the same version on both sides",
        )),
        Err(error) => {
            checks.push(Check::bad("version", State::Optional, error.message(), "ask whoever runs the server"))
        }
    }
    match client.whoami().await {
        Ok(me) => checks.push(Check::ok("sign-in", format!("as {}", me.user.name))),
        Err(error) => checks.push(failed("sign-in", &error)),
    }
    checks
}

fn failed(name: &str, error: &Error) -> Check {
    let hint = error.hint_text().unwrap_or("sign in again with `suanli login URL`");
    Check::bad(name, State::Missing, error.message(), hint)
}

fn words(checks: &[Check], out: &Output) -> String {
    let mut table = Table::new(&[]);
    for check in checks {
        let (word, style) = match check.state {
            State::Ok => ("ok", Style::Green),
            State::Optional => ("optional", Style::Yellow),
            State::Missing => ("missing", Style::Red),
        };
        table.row(vec![Cell::styled(word, style), check.name.as_str().into(), check.detail.as_str().into()]);
        if let Some(hint) = &check.hint {
            table.row(vec!["".into(), "".into(), Cell::styled(format!("to mend it: {hint}"), Style::Dim)]);
        }
    }
    table.render(out.paint)
}
