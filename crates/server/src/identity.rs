//! Who somebody really is: found out by the operator's own program or service.
//! Of what it is told and what it finds, only the result is kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use base::{Cause, Error, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use store::profiles::{Identity, Profile};
use store::settings::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::state::App;

/// How long the program may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Largest answer of the program, bytes, and longest note, characters.
const LARGEST: u64 = 64 * 1024;
const LONGEST: usize = 300;

/// What was found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The result.
    pub state: Identity,
    /// For the user, in a sentence.
    pub note: Option<String>,
    /// Where he goes on.
    pub url: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    state: String,
    #[serde(default)]
    note: Option<String>,
    #[serde(default)]
    url: Option<String>,
}

/// Makes sure that a user may rent as far as that depends on who he is.
///
/// # Errors
/// `identity-needed`, or the database's.
pub async fn required(app: &App, user: &base::UserId) -> Result<()> {
    let settings = app.settings().await?;
    if !settings.identity_required {
        return Ok(());
    }
    let mut db = app.store.read().await?;
    let profile = store::profiles::get(&mut db, user).await?;
    if profile.is_some_and(|p| p.identity == Identity::Verified) {
        return Ok(());
    }
    let page = app.way.page(&settings, "/settings/identity");
    Err(Error::new(Cause::IdentityNeeded, "on this site only users whose identity is verified may rent")
        .hint(format!("have it verified at {page}, then try again")))
}

/// Has the operator's program or service look at somebody.
///
/// # Errors
/// `not-offered` where the operator has named none, `unavailable` where it does not
/// answer as it should.
pub async fn check(
    app: &App,
    settings: &Settings,
    profile: &Profile,
    fields: BTreeMap<String, Value>,
) -> Result<Verdict> {
    let user = json!({ "id": profile.user.id, "name": profile.user.name, "email": profile.email });
    let asked = serde_json::to_vec(&json!({ "user": user, "fields": fields })).map_err(Error::internal)?;
    let answer = match (&app.identity_command, &settings.identity_url) {
        (Some(command), _) => run(command, asked).await?,
        (None, Some(url)) => post(app, url, asked).await?,
        (None, None) => {
            return Err(Error::new(Cause::NotOffered, "this site has no way to verify who somebody is")
                .hint("ask its operator"));
        }
    };
    verdict(&answer)
}

fn verdict(answer: &[u8]) -> Result<Verdict> {
    let odd = |why: String| odd().context(why);
    // A list would be taken for the fields in their order.
    let answer: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(answer).map_err(|e| odd(e.to_string()))?;
    let answer: Answer = serde_json::from_value(answer.into()).map_err(|e| odd(e.to_string()))?;
    let state = answer.state.parse::<Identity>().map_err(|e| odd(e.to_string()))?;
    let note = answer.note.map(|note| note.chars().filter(|c| !c.is_control()).take(LONGEST).collect());
    let url = answer.url.filter(|url| url.starts_with("https://") || url.starts_with("http://"));
    Ok(Verdict { state, note, url })
}

fn odd() -> Error {
    Error::new(Cause::Unavailable, "the service that verifies identities does not answer as it should")
        .hint("try again in a moment; the operator of this site can see more in its log")
}

async fn post(app: &App, url: &str, asked: Vec<u8>) -> Result<Vec<u8>> {
    let request =
        http::Request::post(url).header("content-type", "application/json").header("accept", "application/json");
    let answer = app.http()?.send(request.body(asked).map_err(Error::internal)?).await.map_err(|e| odd().context(e))?;
    match answer.status().is_success() {
        true => Ok(answer.into_body()),
        false => Err(odd().context(answer.status())),
    }
}

async fn run(command: &Path, asked: Vec<u8>) -> Result<Vec<u8>> {
    let failed = |why: String| odd().context(format!("{}: {why}", command.display()));
    let mut child = tokio::process::Command::new(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| failed(e.to_string()))?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(failed("it has no input or output".into()));
    };
    let whole = async {
        let write = async move {
            // A program that does not read what it is told may answer all the same.
            drop(stdin.write_all(&asked).await);
            drop(stdin.shutdown().await);
        };
        let read = async {
            let mut answer = Vec::new();
            stdout.take(LARGEST).read_to_end(&mut answer).await.map(|_| answer)
        };
        let ((), answer) = tokio::join!(write, read);
        let status = child.wait().await.map_err(|e| failed(e.to_string()))?;
        let answer = answer.map_err(|e| failed(e.to_string()))?;
        if status.success() { Ok(answer) } else { Err(failed(status.to_string())) }
    };
    tokio::time::timeout(PATIENCE, whole).await.unwrap_or_else(|_| Err(failed("it took too long".into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_results_are_believed() {
        let ok = verdict(br#"{"state":"pending","note":"go\non","url":"https://id.example/x","more":1}"#).unwrap();
        let url = Some("https://id.example/x".to_owned());
        assert_eq!(ok, Verdict { state: Identity::Pending, note: Some("goon".into()), url });
        let odd = verdict(br#"{"state":"refused","url":"javascript:alert(1)"}"#).unwrap();
        assert_eq!(odd, Verdict { state: Identity::Refused, note: None, url: None });
        for bad in [&b""[..], b"{}", br#"{"state":"yes"}"#, br#"["verified"]"#, br#"{"state":null}"#] {
            assert_eq!(verdict(bad).unwrap_err().cause(), Cause::Unavailable);
        }
    }
}
