//! The engine contract over a connection to an agent.
//!
//! One HTTP/2 connection carries every call and every stream; it is dialled when
//! it is first needed and again after it broke.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base::{Cause, Error, InstanceId, Result, Span, Timestamp};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyDataStream, BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio_util::io::{CopyToBytes, SinkWriter, StreamReader};
use tokio_util::sync::PollSender;

use crate::{Alive, Engine, InstanceRef, InstanceSpec, NodeInfo, NodeReport, Ready, Stats, Stopped};

/// Bytes under way in one stream, and in one connection: enough for a fast disk.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;
const FRAME: u32 = 256 << 10;
/// Longest answer that is not a stream, bytes.
const ANSWER: usize = 64 << 20;

const SHORT: Duration = Duration::from_secs(10);
const CREATE: Duration = Duration::from_secs(60);
const START: Duration = Duration::from_secs(60);
/// On top of the grace that was asked for: clearing away takes its time too.
const END: Duration = Duration::from_secs(60);

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// An agent that answers on a Unix socket. Clones share one connection.
#[derive(Clone, Debug)]
pub struct AgentEngine(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    connection: Mutex<Option<SendRequest<Body>>>,
}

fn lost(context: impl std::fmt::Display) -> Error {
    Error::new(Cause::Unavailable, "the node's agent cannot be reached")
        .hint("it is tried again; if this stays, look whether the agent runs on the node")
        .context(context)
}

/// An error as the agent writes it.
#[derive(Deserialize)]
struct Problem {
    cause: Cause,
    message: String,
    hint: Option<String>,
}

#[derive(Serialize)]
struct Stop<'a> {
    #[serde(flatten)]
    instance: &'a InstanceRef,
    grace: Span,
}

impl AgentEngine {
    /// The agent that listens on this socket. Nothing is dialled yet.
    pub fn unix(path: impl AsRef<Path>) -> Self {
        Self(Arc::new(Shared { path: path.as_ref().to_owned(), connection: Mutex::new(None) }))
    }

    /// Opens a stream of link frames into a running instance. An agent that cannot
    /// open it answers with one `Error` frame.
    ///
    /// # Errors
    /// `unavailable` when the agent cannot be reached.
    pub async fn open_stream(&self, id: &InstanceId) -> Result<Stream> {
        let (sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(8);
        let pieces = tokio_stream(receiver).map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
        let request =
            build(Method::POST, &format!("/v1/instances/{id}/stream"), StreamBody::new(pieces).boxed_unsync())?;
        let (mut connection, _) = self.connection().await?;
        let answered = tokio::time::timeout(SHORT, connection.send_request(request)).await;
        let response = answered.map_err(|_| lost("no answer in time"))?.map_err(lost)?;
        if !response.status().is_success() {
            let bytes = collect(response).await?;
            return Err(problem(&bytes));
        }
        let data = BodyDataStream::new(response.into_body()).map(|piece| piece.map_err(std::io::Error::other));
        let sink = PollSender::new(sender).sink_map_err(|_| std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        Ok(Stream { read: Box::pin(StreamReader::new(data)), write: Box::pin(SinkWriter::new(CopyToBytes::new(sink))) })
    }

    /// Ends the agent; its instances go on. The connection may end before the
    /// answer, which is an answer too.
    ///
    /// # Errors
    /// `unavailable` when it could not be asked.
    pub async fn shutdown(&self) -> Result<()> {
        let body = http_body_util::Empty::new().boxed_unsync();
        let request = build(Method::POST, "/v1/shutdown", body)?;
        let (mut connection, _) = self.connection().await?;
        let _ = tokio::time::timeout(SHORT, connection.send_request(request)).await;
        Ok(())
    }

    /// A connection, and whether it was there already.
    async fn connection(&self) -> Result<(SendRequest<Body>, bool)> {
        let mut shared = self.0.connection.lock().await;
        if let Some(connection) = shared.as_ref().filter(|c| !c.is_closed()) {
            return Ok((connection.clone(), true));
        }
        let dial = async {
            let stream = UnixStream::connect(&self.0.path).await.map_err(lost)?;
            Builder::new(TokioExecutor::new())
                .initial_stream_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .max_frame_size(FRAME)
                .max_send_buf_size(1 << 20)
                .handshake(TokioIo::new(stream))
                .await
                .map_err(lost)
        };
        let (connection, driver) = tokio::time::timeout(SHORT, dial).await.map_err(|_| lost("no answer in time"))??;
        tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(%error, "the connection to the agent ended");
            }
        });
        *shared = Some(connection.clone());
        Ok((connection, false))
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
        limit: Duration,
    ) -> Result<T> {
        let body = match body {
            Some(body) => Bytes::from(serde_json::to_vec(body).map_err(Error::internal)?),
            None => Bytes::new(),
        };
        let work = async {
            loop {
                let (mut connection, used_before) = self.connection().await?;
                let request = build(method.clone(), path, Full::new(body.clone()).boxed_unsync())?;
                match connection.send_request(request).await {
                    // Every call may be repeated, and an agent that was restarted shows
                    // only when its old connection is used.
                    Err(_) if used_before => self.forget(&connection).await,
                    other => return answer(other.map_err(lost)?).await,
                }
            }
        };
        tokio::time::timeout(limit, work).await.map_err(|_| lost(format!("no answer to {path} in time")))?
    }

    /// Drops the shared connection if it is broken.
    async fn forget(&self, broken: &SendRequest<Body>) {
        let mut shared = self.0.connection.lock().await;
        if broken.is_closed() || shared.as_ref().is_some_and(|c| !c.is_ready()) {
            *shared = None;
        }
    }
}

fn tokio_stream(
    mut receiver: tokio::sync::mpsc::Receiver<Bytes>,
) -> impl futures_util::Stream<Item = Bytes> + Send + 'static {
    futures_util::stream::poll_fn(move |context| receiver.poll_recv(context))
}

fn build(method: Method, path: &str, body: Body) -> Result<Request<Body>> {
    // The name only fills the protocol's mandatory field; the connection is the address.
    Request::builder().method(method).uri(format!("http://agent{path}")).body(body).map_err(Error::internal)
}

async fn collect(response: Response<Incoming>) -> Result<Bytes> {
    let whole = Limited::new(response.into_body(), ANSWER).collect().await;
    whole.map(|body| body.to_bytes()).map_err(lost)
}

async fn answer<T: DeserializeOwned>(response: Response<Incoming>) -> Result<T> {
    let good = response.status().is_success();
    let bytes = collect(response).await?;
    if !good {
        return Err(problem(&bytes));
    }
    serde_json::from_slice(&bytes).map_err(|e| {
        Error::new(Cause::EngineFailed, "the agent's answer is not understood")
            .hint("server and agent must be of the same or neighbouring versions")
            .context(e)
    })
}

fn problem(bytes: &Bytes) -> Error {
    match serde_json::from_slice::<Problem>(bytes) {
        Ok(problem) => {
            let error = Error::new(problem.cause, problem.message);
            problem.hint.into_iter().fold(error, Error::hint)
        }
        Err(e) => Error::new(Cause::EngineFailed, "the agent refused without a reason that is understood")
            .hint("server and agent must be of the same or neighbouring versions")
            .context(e),
    }
}

const NOTHING: Option<&()> = None;

impl Engine for AgentEngine {
    async fn info(&self) -> Result<NodeInfo> {
        self.call(Method::GET, "/v1/info", NOTHING, SHORT).await
    }

    async fn create(&self, spec: &InstanceSpec) -> Result<()> {
        let path = format!("/v1/instances/{}", spec.instance.id);
        self.call(Method::PUT, &path, Some(spec), CREATE).await
    }

    async fn start(&self, instance: &InstanceRef) -> Result<Ready> {
        let path = format!("/v1/instances/{}/start", instance.id);
        self.call(Method::POST, &path, Some(instance), START).await
    }

    async fn stop(&self, instance: &InstanceRef, grace: Span) -> Result<Stopped> {
        let path = format!("/v1/instances/{}/stop", instance.id);
        self.call(Method::POST, &path, Some(&Stop { instance, grace }), duration(grace).saturating_add(END)).await
    }

    async fn delete(&self, instance: &InstanceRef) -> Result<()> {
        let path = format!("/v1/instances/{}/delete", instance.id);
        self.call(Method::POST, &path, Some(instance), END).await
    }

    async fn list(&self) -> Result<Vec<Alive>> {
        self.call(Method::GET, "/v1/instances", NOTHING, SHORT).await
    }

    async fn stats(&self, instance: &InstanceId) -> Result<Stats> {
        self.call(Method::GET, &format!("/v1/instances/{instance}/stats"), NOTHING, SHORT).await
    }

    async fn report(&self, after: Timestamp, wait: Span) -> Result<NodeReport> {
        let path = format!("/v1/report?after={}&wait_ms={}", after.micros(), wait.millis());
        self.call(Method::GET, &path, NOTHING, duration(wait).saturating_add(SHORT)).await
    }
}

fn duration(span: Span) -> Duration {
    Duration::from_micros(span.micros().max(0).unsigned_abs())
}

/// Bytes of link frames to and from the helper inside an instance.
///
/// Shutting the writing side down tells the helper that the caller is gone; the
/// end of input of a command is a frame of its own.
pub struct Stream {
    read: Pin<Box<dyn AsyncRead + Send>>,
    write: Pin<Box<dyn AsyncWrite + Send>>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stream")
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        self.read.as_mut().poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<std::io::Result<usize>> {
        self.write.as_mut().poll_write(context, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        self.write.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        self.write.as_mut().poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_agent_that_is_not_there_is_unavailable() {
        let engine = AgentEngine::unix("/nonexistent/agent.sock");
        assert_eq!(engine.info().await.unwrap_err().cause(), Cause::Unavailable);
        let id = InstanceId::new(Timestamp::EPOCH, 1);
        assert_eq!(engine.open_stream(&id).await.unwrap_err().cause(), Cause::Unavailable);
    }

    #[tokio::test]
    async fn a_peer_that_speaks_something_else_is_unavailable() {
        let path = std::env::temp_dir().join(format!("suanli-engine-{}.sock", std::process::id()));
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        let talk = tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.write_all(b"220 who are you\r\n").await;
            }
        });
        let error = AgentEngine::unix(&path).list().await.unwrap_err();
        assert_eq!(error.cause(), Cause::Unavailable, "{error}");
        talk.abort();
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn refusals_keep_cause_message_and_hint() {
        let body = br#"{"cause":"device-busy","message":"taken","hint":"wait"}"#;
        let error = problem(&Bytes::from_static(body));
        assert_eq!((error.cause(), error.message()), (Cause::DeviceBusy, "taken"));
        assert_eq!(error.hint_text(), Some("wait"));
        assert_eq!(problem(&Bytes::from_static(b"<html>")).cause(), Cause::EngineFailed);
    }
}
