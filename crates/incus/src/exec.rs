//! Commands inside instances through Incus: the way for virtual machines, and to
//! start what then speaks for itself. Streams of our own are faster where the agent
//! can enter the instance.

use std::collections::BTreeMap;

use base::{Cause, Error, Result};
use bytes::Bytes;
use futures_util::stream::SplitSink;
use futures_util::{SinkExt, StreamExt};
use http::Method;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::endpoint::Io;
use crate::operation::Operation;
use crate::transport::{Ask, Incus, strange};

type Socket = WebSocketStream<Box<dyn Io>>;

/// A command to be run.
#[derive(Clone, Debug, Default)]
pub struct ExecRequest {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Environment besides that of the instance.
    pub environment: BTreeMap<String, String>,
    /// Rows and columns of a terminal; `None` for plain pipes.
    pub window: Option<(u16, u16)>,
}

/// What comes out of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Its output, or what its terminal shows.
    Out(Bytes),
    /// Its error output.
    Err(Bytes),
}

/// A command that runs.
pub struct Exec {
    incus: Incus,
    operation: Operation,
    control: Socket,
    input: Option<SplitSink<Socket, Message>>,
    output: mpsc::Receiver<Piece>,
}

impl std::fmt::Debug for Exec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exec").field("operation", &self.operation).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Begun {
    metadata: Secrets,
}

#[derive(Deserialize)]
struct Secrets {
    fds: BTreeMap<String, String>,
}

impl Incus {
    /// Runs a command to its end without input; its output and exit status.
    ///
    /// # Errors
    /// `not-found`, `engine-failed` when it cannot be started, `unavailable`.
    pub async fn run(&self, instance: &str, command: &[&str]) -> Result<(Bytes, i64)> {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        let mut exec = self.exec(instance, &ExecRequest { command, ..ExecRequest::default() }).await?;
        exec.end_of_input().await;
        let mut all = Vec::new();
        while let Some(Piece::Out(bytes) | Piece::Err(bytes)) = exec.next().await {
            all.extend_from_slice(&bytes);
        }
        Ok((Bytes::from(all), exec.exit().await?))
    }

    /// Starts a command.
    ///
    /// # Errors
    /// As [`Incus::run`].
    pub async fn exec(&self, instance: &str, request: &ExecRequest) -> Result<Exec> {
        let (rows, columns) = request.window.unwrap_or_default();
        let body = json!({
            "command": request.command,
            "environment": request.environment,
            "wait-for-websocket": true,
            "interactive": request.window.is_some(),
            "width": columns,
            "height": rows,
        });
        let path = ["instances", instance, "exec"];
        let answer = self.ask(Ask::new(Method::POST, &path).json(&body)?).await?;
        let operation = Operation::of(&answer)?;
        let begun: Begun = answer.metadata()?;
        let secret =
            |name: &str| begun.metadata.fds.get(name).cloned().ok_or_else(|| strange(format!("no channel {name}")));
        let open = async |name: &str| {
            let path = ["operations", operation.id.as_str(), "websocket"];
            self.socket(&path, &[("secret", secret(name)?)]).await
        };
        let control = open("control").await?;
        let (sender, output) = mpsc::channel(16);
        let input = if request.window.is_some() {
            let (input, out) = open("0").await?.split();
            tokio::spawn(pump(out, sender, Piece::Out));
            input
        } else {
            let (input, _) = open("0").await?.split();
            tokio::spawn(pump(open("1").await?, sender.clone(), Piece::Out));
            tokio::spawn(pump(open("2").await?, sender, Piece::Err));
            input
        };
        Ok(Exec { incus: self.clone(), operation, control, input: Some(input), output })
    }
}

/// Passes output on until the channel ends. Incus says so with an empty message.
async fn pump(
    mut from: impl futures_util::Stream<Item = Result<Message, tokio_tungstenite::tungstenite::Error>> + Unpin,
    to: mpsc::Sender<Piece>,
    piece: fn(Bytes) -> Piece,
) {
    while let Some(Ok(message)) = from.next().await {
        match message {
            Message::Binary(bytes) if bytes.is_empty() => {}
            Message::Binary(bytes) => match to.send(piece(bytes)).await {
                Ok(()) => {}
                Err(_) => return,
            },
            Message::Text(text) if text.is_empty() => return,
            Message::Close(_) => return,
            _ => {}
        }
    }
}

fn gone(context: impl std::fmt::Display) -> Error {
    Error::new(Cause::Unavailable, "the connection into the instance broke off").hint("try again").context(context)
}

impl Exec {
    /// The next piece of output; `None` when there is no more.
    pub async fn next(&mut self) -> Option<Piece> {
        self.output.recv().await
    }

    /// Sends input.
    ///
    /// # Errors
    /// `unavailable` when the command or the connection is gone.
    pub async fn send(&mut self, bytes: Bytes) -> Result<()> {
        let input = self.input.as_mut().ok_or_else(|| gone("its input was ended"))?;
        input.send(Message::Binary(bytes)).await.map_err(gone)
    }

    /// Says that there is no more input. A command that has ended already needs none.
    pub async fn end_of_input(&mut self) {
        if let Some(mut input) = self.input.take() {
            let _ = input.send(Message::Text("".into())).await;
        }
    }

    /// Tells the terminal its new size.
    ///
    /// # Errors
    /// As [`Exec::send`].
    pub async fn resize(&mut self, rows: u16, columns: u16) -> Result<()> {
        let args = json!({ "width": columns.to_string(), "height": rows.to_string() });
        self.tell(&json!({ "command": "window-resize", "args": args })).await
    }

    /// Sends a signal to the command.
    ///
    /// # Errors
    /// As [`Exec::send`].
    pub async fn signal(&mut self, number: i32) -> Result<()> {
        self.tell(&json!({ "command": "signal", "signal": number })).await
    }

    async fn tell(&mut self, what: &serde_json::Value) -> Result<()> {
        self.control.send(Message::Text(what.to_string().into())).await.map_err(gone)
    }

    /// Waits for the end, without further input or output: its exit status, 128 + signal when a signal ended it.
    ///
    /// # Errors
    /// `unavailable` when Incus went away, `engine-failed` when it never started.
    pub async fn exit(mut self) -> Result<i64> {
        // Incus waits for both ends of every channel; who asks for the end wants no more of them.
        self.end_of_input().await;
        self.output.close();
        let state = self.incus.wait_state(&self.operation, &mut |_| ()).await?;
        state.metadata.get("return").and_then(serde_json::Value::as_i64).ok_or_else(|| strange("no exit status"))
    }
}
