//! The stream of what happens in an Incus.

use base::Result;
use futures_util::StreamExt;
use serde::Deserialize;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::endpoint::Io;
use crate::transport::{Incus, strange};

/// Something that happened.
#[derive(Clone, Debug, Deserialize)]
pub struct Event {
    /// `lifecycle` or `operation`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Member that it happened on.
    #[serde(default)]
    pub location: String,
    /// Details.
    #[serde(default)]
    pub metadata: serde_json::Value,
}

impl Event {
    /// What was done, of a life cycle event: `instance-shutdown`.
    pub fn action(&self) -> &str {
        self.metadata.get("action").and_then(serde_json::Value::as_str).unwrap_or_default()
    }

    /// Name of the instance that it is about, if it is about one.
    pub fn instance(&self) -> Option<&str> {
        let source = self.metadata.get("source")?.as_str()?;
        source.strip_prefix("/1.0/instances/")?.split(['/', '?']).next()
    }
}

/// An open stream of events. What happens before it is open is not told.
pub struct Events(WebSocketStream<Box<dyn Io>>);

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Events")
    }
}

impl Incus {
    /// Opens the stream of the project's life cycle events.
    ///
    /// # Errors
    /// `unavailable`, `forbidden`.
    pub async fn events(&self) -> Result<Events> {
        Ok(Events(self.socket(&["events"], &[("type", "lifecycle".to_owned())]).await?))
    }
}

impl Events {
    /// The next event; `None` when the stream has ended.
    ///
    /// # Errors
    /// `engine-failed` for what is not understood.
    pub async fn next(&mut self) -> Result<Option<Event>> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).map(Some).map_err(strange),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Ok(None),
                Some(Ok(_)) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_names_its_instance() {
        let text = r#"{"type":"lifecycle","timestamp":"2026-01-01T00:00:00Z","location":"n2","project":"suanli",
            "metadata":{"action":"instance-shutdown","source":"/1.0/instances/ins-1-g2?project=suanli"}}"#;
        let event: Event = serde_json::from_str(text).unwrap();
        assert_eq!((event.action(), event.instance()), ("instance-shutdown", Some("ins-1-g2")));
    }
}
