//! Work that Incus does in the background.

use std::collections::BTreeMap;
use std::time::Duration;

use base::{Cause, Error, Result};
use serde::Deserialize;

use crate::fault;
use crate::transport::{Answer, Ask, Incus};

/// How long one question for the end may wait. Between two questions the caller hears
/// of the progress.
const TURN: Duration = Duration::from_secs(2);
/// On top of it, for the answer itself.
const SLACK: Duration = Duration::from_secs(20);

/// How Incus says that an operation goes on after a question has waited its time.
const NOT_YET: &str = "context deadline exceeded";

/// How far an operation came, in Incus's own words: `rootfs: 35% (21MB/s)`.
pub type Progress = String;

/// Work that was begun. Dropping it does not end the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its id in Incus.
    pub id: String,
}

/// State of an operation.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct State {
    #[serde(default)]
    pub description: String,
    pub status_code: i64,
    #[serde(default)]
    pub err: String,
    #[serde(default, deserialize_with = "nothing_is_empty")]
    pub metadata: BTreeMap<String, serde_json::Value>,
}

/// Incus writes `null` where it has no entries.
pub(crate) fn nothing_is_empty<'de, D, T>(from: D) -> std::result::Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

impl State {
    /// Whether it came to an end, and to which.
    fn end(&self) -> Option<Result<()>> {
        match self.status_code {
            200 => Some(Ok(())),
            400.. => {
                let said = if self.err.is_empty() { "the operation was cancelled" } else { &self.err };
                Some(Err(fault::of(400, said).context(&self.description)))
            }
            _ => None,
        }
    }

    fn progress(&self) -> Option<Progress> {
        let value = self.metadata.iter().find(|(name, _)| name.ends_with("_progress"))?.1;
        value.as_str().map(str::to_owned)
    }
}

impl Operation {
    pub(crate) fn of(answer: &Answer) -> Result<Self> {
        let path = answer.operation().ok_or_else(|| crate::transport::strange("no operation was begun"))?;
        let id = path.split('?').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        Ok(Self { id: id.to_owned() })
    }
}

impl Incus {
    /// Waits for the end of an operation, however long it takes, as long as it lives.
    ///
    /// # Errors
    /// What the operation failed with; `unavailable` when Incus went away meanwhile
    /// (then nothing is known about the outcome, and the caller looks at the object).
    pub async fn wait(&self, operation: &Operation) -> Result<()> {
        self.wait_and_tell(operation, |_| ()).await
    }

    /// As [`Incus::wait`], with news of the progress.
    ///
    /// # Errors
    /// As [`Incus::wait`].
    pub async fn wait_and_tell(&self, operation: &Operation, mut tell: impl FnMut(Progress) + Send) -> Result<()> {
        self.wait_state(operation, &mut tell).await.map(drop)
    }

    pub(crate) async fn wait_state(
        &self,
        operation: &Operation,
        tell: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<State> {
        loop {
            let state: State = match self.turn(operation).await {
                Ok(answer) => match answer.metadata() {
                    // Not the operation's end but that of this question.
                    Err(error) if error.message().ends_with(NOT_YET) => {
                        self.get(&["operations", operation.id.as_str()]).await?
                    }
                    other => other?,
                },
                // Operations live in the memory of a daemon, which has started anew.
                Err(error) if error.cause() == Cause::NotFound => {
                    return Err(Error::new(Cause::Unavailable, "Incus was restarted while it worked")
                        .hint("it is looked at again and repeated where needed")
                        .context(error));
                }
                Err(error) => return Err(error),
            };
            if let Some(progress) = state.progress() {
                tell(progress);
            }
            if let Some(end) = state.end() {
                return end.map(|()| state);
            }
        }
    }

    async fn turn(&self, operation: &Operation) -> Result<Answer> {
        let path = ["operations", operation.id.as_str(), "wait"];
        let ask = Ask::get(&path).query("timeout", TURN.as_secs().to_string());
        self.ask_within(ask, TURN + SLACK).await
    }

    /// Asks an operation to end. One that has ended, or cannot, is fine.
    ///
    /// # Errors
    /// `unavailable` when Incus cannot be reached.
    pub async fn cancel(&self, operation: &Operation) -> Result<()> {
        let path = ["operations", operation.id.as_str()];
        match self.ask(Ask::new(http::Method::DELETE, &path)).await {
            Err(error) if error.cause() == Cause::Unavailable => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> State {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn ends_are_told_from_going_on() {
        let running = state(
            r#"{"id":"a","description":"Creating","status_code":103,"err":"","resources":null,
                "metadata":{"create_instance_from_image_unpack_progress":"Unpacking image: 12% (1.2GB/s)"}}"#,
        );
        assert!(running.end().is_none());
        assert_eq!(running.progress().unwrap(), "Unpacking image: 12% (1.2GB/s)");
        assert!(state(r#"{"id":"a","status_code":200}"#).end().unwrap().is_ok());
        let failed = state(r#"{"id":"a","status_code":400,"err":"No space left on device"}"#).end().unwrap();
        assert_eq!(failed.unwrap_err().cause(), Cause::DiskFull);
        assert!(state(r#"{"id":"a","status_code":401}"#).end().unwrap().unwrap_err().message().contains("cancelled"));
    }
}
