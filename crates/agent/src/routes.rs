//! The engine contract as HTTP, and streams into instances.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Router, extract::DefaultBodyLimit};
use base::{Cause, Error, InstanceId, Span, Timestamp};
use bytes::Bytes;
use engine::{Engine, InstanceRef, InstanceSpec};
use futures_util::StreamExt;
use link::{Control, Frame};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;

use crate::node::Node;

/// Largest piece of a stream that is passed on at once, bytes.
const PIECE: usize = 256 * 1024;
/// A specification is small; the environment is most of it.
const BODY: usize = 4 << 20;

/// All routes of the agent. A server that started this agent ends it through `end`.
pub fn router(node: Node, end: Arc<Notify>) -> Router {
    Router::new()
        .route("/v1/shutdown", post(async move || end.notify_one()))
        .route("/v1/info", get(info))
        .route("/v1/report", get(report))
        .route("/v1/instances", get(list))
        .route("/v1/instances/{id}", put(create))
        .route("/v1/instances/{id}/start", post(start))
        .route("/v1/instances/{id}/stop", post(stop))
        .route("/v1/instances/{id}/delete", post(delete))
        .route("/v1/instances/{id}/stats", get(stats))
        .route("/v1/instances/{id}/stream", post(stream).layer(DefaultBodyLimit::disable()))
        .fallback(async || Failure(Error::not_found("this route of the agent")))
        .layer(DefaultBodyLimit::max(BODY))
        .with_state(node)
}

/// An error as a response.
struct Failure(Error);

#[derive(Serialize)]
struct Problem<'a> {
    cause: Cause,
    message: &'a str,
    hint: Option<&'a str>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let error = self.0;
        tracing::info!(cause = %error.cause(), %error, "refused or failed");
        let status = StatusCode::from_u16(error.cause().kind().http_status());
        let problem = Problem { cause: error.cause(), message: error.message(), hint: error.hint_text() };
        (status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), Json(problem)).into_response()
    }
}

type Answer<T> = Result<Json<T>, Failure>;

fn parse<T: serde::de::DeserializeOwned>(body: &Bytes) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|e| {
        let error = Error::new(Cause::InvalidRequest, "the agent does not understand the request");
        Failure(error.hint("server and agent must be of the same or neighbouring versions").context(e))
    })
}

/// The body names the instance too; a mix-up must not hit the wrong one.
fn same(id: &str, named: &InstanceId) -> Result<(), Failure> {
    if id == named.as_str() {
        return Ok(());
    }
    Err(Failure(Error::new(Cause::InvalidRequest, "the address and the body name different instances")))
}

async fn info(State(node): State<Node>) -> Answer<engine::NodeInfo> {
    Ok(Json(node.info().await?))
}

#[derive(Deserialize)]
struct Wait {
    #[serde(default)]
    after: i64,
    #[serde(default)]
    wait_ms: i64,
}

async fn report(State(node): State<Node>, Query(wait): Query<Wait>) -> Answer<engine::NodeReport> {
    let after = Timestamp::from_micros(wait.after);
    Ok(Json(node.report(after, Span::from_millis(wait.wait_ms.clamp(0, 300_000))).await?))
}

async fn list(State(node): State<Node>) -> Answer<Vec<engine::Alive>> {
    Ok(Json(node.list().await?))
}

async fn create(State(node): State<Node>, Path(id): Path<String>, body: Bytes) -> Answer<()> {
    let spec: InstanceSpec = parse(&body)?;
    same(&id, &spec.instance.id)?;
    Ok(Json(node.create(&spec).await?))
}

async fn start(State(node): State<Node>, Path(id): Path<String>, body: Bytes) -> Answer<engine::Ready> {
    let instance: InstanceRef = parse(&body)?;
    same(&id, &instance.id)?;
    Ok(Json(node.start(&instance).await?))
}

#[derive(Deserialize)]
struct Stop {
    #[serde(flatten)]
    instance: InstanceRef,
    grace: Span,
}

async fn stop(State(node): State<Node>, Path(id): Path<String>, body: Bytes) -> Answer<engine::Stopped> {
    let stop: Stop = parse(&body)?;
    same(&id, &stop.instance.id)?;
    Ok(Json(node.stop(&stop.instance, stop.grace).await?))
}

async fn delete(State(node): State<Node>, Path(id): Path<String>, body: Bytes) -> Answer<()> {
    let instance: InstanceRef = parse(&body)?;
    same(&id, &instance.id)?;
    Ok(Json(node.delete(&instance).await?))
}

async fn stats(State(node): State<Node>, Path(id): Path<String>) -> Answer<engine::Stats> {
    let id: InstanceId = id.parse()?;
    Ok(Json(node.stats(&id).await?))
}

/// Passes bytes on in both directions. A stream that cannot be opened is answered
/// in the stream's own language, so that a caller has one place to look.
async fn stream(State(node): State<Node>, Path(id): Path<String>, body: Body) -> Response {
    let opened = match id.parse::<InstanceId>() {
        Ok(id) => node.open_stream(&id).await,
        Err(error) => Err(error),
    };
    let (guest, session) = match opened {
        Ok(opened) => opened,
        Err(error) => return refused(&error),
    };
    let (mut from_guest, mut to_guest) = guest.into_split();
    let session = std::sync::Arc::new(session);
    let counted = session.clone();
    let pump = tokio::spawn(async move {
        let mut body = body.into_data_stream();
        while let Some(Ok(piece)) = body.next().await {
            counted.count(piece.len());
            if to_guest.write_all(&piece).await.is_err() {
                return;
            }
        }
        // The caller said all, or is gone: the helper knows what that means.
        let _ = to_guest.shutdown().await;
    });
    let (sender, receiver) = tokio::sync::mpsc::channel::<Result<Bytes, std::io::Error>>(4);
    tokio::spawn(async move {
        loop {
            let mut piece = bytes::BytesMut::with_capacity(PIECE);
            let read = tokio::select! {
                read = from_guest.read_buf(&mut piece) => read,
                // Nobody listens any more: closing tells the helper.
                () = sender.closed() => break,
            };
            let outcome = match read {
                Ok(0) => break,
                Ok(count) => {
                    session.count(count);
                    Ok(piece.freeze())
                }
                Err(error) => Err(error),
            };
            let failed = outcome.is_err();
            if sender.send(outcome).await.is_err() || failed {
                break;
            }
        }
        pump.abort();
    });
    Body::from_stream(tokio_stream::wrappers::ReceiverStream::new(receiver)).into_response()
}

fn refused(error: &Error) -> Response {
    let control = Control::Error { cause: error.cause().code().into(), message: error.message().into() };
    let mut bytes = Vec::new();
    match Frame::Control(control).encode(&mut bytes) {
        Ok(()) => Body::from(bytes).into_response(),
        Err(e) => Failure(Error::internal(e)).into_response(),
    }
}
