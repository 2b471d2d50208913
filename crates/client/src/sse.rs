//! The live stream of events, which comes back after a broken connection.

use std::time::Duration;

use api::event::{EventQuery, EventView};
use base::{Error, Result};
use bytes::BytesMut;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use url::Url;

use crate::Client;
use crate::http::{append_query, broken_off, not_ours};

/// Servers send a comment at least this often, so silence means a dead connection.
const SILENCE: Duration = Duration::from_secs(90);
/// One event is a few hundred bytes; anything this long is not an event.
const LONGEST_EVENT: usize = 4 * 1024 * 1024;
const PAUSES: &[Duration] = &[
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// Events as they happen. A broken connection is taken up again where it broke,
/// so no event is missed or comes twice.
pub struct EventStream {
    client: Client,
    url: Url,
    last: Option<i64>,
    body: Incoming,
    buffer: BytesMut,
}

impl Client {
    /// Follows events: first those after `query.after` that happened already,
    /// then new ones.
    ///
    /// # Errors
    /// The server's refusal, or `unavailable`.
    pub async fn events(&self, query: &EventQuery) -> Result<EventStream> {
        let mut url = self.address(&["v1", "events"])?;
        append_query(&mut url, &serde_json::to_value(query).map_err(Error::internal)?);
        let body = self.open_events(&url, None).await?;
        Ok(EventStream { client: self.clone(), url, last: query.after, body, buffer: BytesMut::new() })
    }
}

impl EventStream {
    /// The next event, however long that takes.
    ///
    /// # Errors
    /// `unavailable` when the server stays away, or its refusal.
    pub async fn next(&mut self) -> Result<EventView> {
        loop {
            while let Some(block) = take_block(&mut self.buffer) {
                let Some(data) = data_of(&block) else { continue };
                let event: EventView =
                    serde_json::from_str(&data).map_err(|e| not_ours(self.client.url()).context(e))?;
                // A server that was asked twice may tell the last one again.
                if self.last.is_some_and(|last| event.seq <= last) {
                    continue;
                }
                self.last = Some(event.seq);
                return Ok(event);
            }
            if self.buffer.len() > LONGEST_EVENT {
                return Err(not_ours(self.client.url()).context("an event without end"));
            }
            match tokio::time::timeout(SILENCE, self.body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                Ok(Some(Err(_)) | None) | Err(_) => self.reconnect().await?,
            }
        }
    }

    async fn reconnect(&mut self) -> Result<()> {
        self.buffer.clear();
        let mut last_error = broken_off(self.client.url());
        for pause in PAUSES {
            tokio::time::sleep(*pause).await;
            match self.client.open_events(&self.url, self.last).await {
                Ok(body) => {
                    self.body = body;
                    return Ok(());
                }
                Err(error) if error.cause() == base::Cause::Unavailable => last_error = error,
                Err(error) => return Err(error),
            }
        }
        Err(last_error)
    }
}

/// Takes one block (up to an empty line) from the front.
fn take_block(buffer: &mut BytesMut) -> Option<String> {
    let mut line_start = 0;
    let mut at = 0;
    while at < buffer.len() {
        if buffer[at] == b'\n' {
            let line = &buffer[line_start..at];
            if line.is_empty() || line == b"\r" {
                let block = buffer.split_to(at + 1);
                return Some(String::from_utf8_lossy(&block).into_owned());
            }
            line_start = at + 1;
        }
        at += 1;
    }
    None
}

/// The `data:` lines of a block, joined; `None` for comments and pings.
fn data_of(block: &str) -> Option<String> {
    let lines: Vec<&str> = block
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(|data| data.strip_prefix(' ').unwrap_or(data))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_whole_however_they_are_cut() {
        let text = ": hello\n\nid: 7\nevent: x\ndata: {\"a\":\ndata: 1}\r\n\r\ndata:z\n\n";
        for cut in 0..text.len() {
            let mut buffer = BytesMut::new();
            let mut seen = Vec::new();
            for piece in [&text[..cut], &text[cut..]] {
                buffer.extend_from_slice(piece.as_bytes());
                while let Some(block) = take_block(&mut buffer) {
                    seen.extend(data_of(&block));
                }
            }
            assert_eq!(seen, ["{\"a\":\n1}", "z"], "cut at {cut}");
            assert!(buffer.is_empty());
        }
    }
}
