//! `GET /v1/instances/{id}/stream`: a WebSocket whose binary messages carry link frames.

use domain::rights::Action;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use base::{Cause, Error};
use bytes::Bytes;
use domain::instance::State as Life;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::observed::Open;
use crate::reach::Pipe;
use crate::resolve;
use crate::standing::Watched;
use crate::state::App;

/// Largest piece that is passed on at once, bytes.
const PIECE: usize = 64 * 1024;

/// How long the end of a stream may take.
const FAREWELL: Duration = Duration::from_secs(10);

/// Largest message that a client may send, bytes: one frame with its header.
const MOST_MESSAGE: usize = link::MAX_PAYLOAD + 1024;

/// Opens a stream into a running instance: a command, a terminal, a connection
/// to one of its ports, or a file transfer. The first frame says which.
#[utoipa::path(get, path = "/v1/instances/{id}/stream", operation_id = "stream", tag = "instances",
    params(("id" = String, Path, description = "id, slug or name")),
    responses((status = 101, description = "WebSocket of binary frames"), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem), (status = 503, body = api::problem::Problem)))]
pub async fn stream(
    State(app): State<App>,
    caller: Caller,
    Reference(id): Reference,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> ApiResult<Response> {
    let i = {
        let mut db = app.store.read().await?;
        resolve::instance(&mut db, &caller, &id, Action::UseInstances).await?
    };
    let (Life::Running, Some(node)) = (i.state, &i.node) else {
        let why = i.reason.as_ref().map_or_else(String::new, |r| format!(": {}", r.message));
        return Err(Error::new(Cause::WrongState, format!("the instance is {}{why}", i.state))
            .hint(format!("`suanli start {}` starts it; wait until it is running", i.slug))
            .into());
    };
    let upgrade = upgrade.map_err(|_| {
        Error::new(Cause::InvalidRequest, "this path is a WebSocket").hint("`suanli exec` and `suanli ssh` speak it")
    })?;
    let mut watched = Watched::new(&app, caller);
    let pipe = app.reach.open(node, &i.id).await?;
    let upgrade = upgrade.max_message_size(MOST_MESSAGE).max_frame_size(MOST_MESSAGE);
    // What waits for a caller who does not read is one piece in each direction.
    let upgrade = upgrade.write_buffer_size(0).max_write_buffer_size(4 * PIECE);
    let (counted, quiet) = (app.observed.opened(Open::Streams), app.guard.limits.stalled);
    Ok(upgrade.on_upgrade(async move |socket| {
        let lost = watched.until_not(|caller| caller.may(Action::UseInstances, &i.account).is_ok());
        carry(socket, pipe, quiet, lost).await;
        drop(counted);
    }))
}

/// Copies both ways until the instance's side ends or the caller goes away. After
/// each `quiet` without a word from inside, the caller is asked whether he is
/// there: where the instance does not listen either, nothing else would tell. It
/// ends too when the caller has `lost` his right to it.
async fn carry(socket: WebSocket, pipe: Box<dyn Pipe>, quiet: Duration, lost: impl Future<Output = ()>) {
    let (mut to_caller, mut from_caller) = socket.split();
    let (from_inside, to_inside) = tokio::io::split(pipe);
    let ended = tokio::select! {
        ended = outward(from_inside, &mut to_caller, quiet) => ended,
        // The caller has gone: dropping the pipe tells the helper inside.
        why = inward(&mut from_caller, to_inside) => Some(why),
        () = lost => Some(Gone::Lost),
    };
    let farewell = async {
        match ended {
            Some(Gone::TooLarge) => {
                let reason = "a message was larger than one frame".into();
                let _ = to_caller.send(Message::Close(Some(CloseFrame { code: close_code::SIZE, reason }))).await;
            }
            Some(Gone::Lost) => {
                let reason = "you are signed out, or may not use this instance any more".into();
                let _ = to_caller.send(Message::Close(Some(CloseFrame { code: close_code::POLICY, reason }))).await;
            }
            // Sends the answer to a close that the caller has sent.
            Some(Gone::Closed) => drop(to_caller.flush().await),
            Some(Gone::Unreachable) => {}
            // Only when the caller has closed too has he read everything.
            None => {
                let _ = to_caller.send(Message::Close(None)).await;
                while from_caller.next().await.is_some_and(|m| m.is_ok()) {}
            }
        }
    };
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
}

/// Why nothing more comes from the caller, or is taken from him.
enum Gone {
    Closed,
    /// He may not any more.
    Lost,
    Unreachable,
    TooLarge,
}

async fn inward(from_caller: &mut SplitStream<WebSocket>, mut to_inside: impl AsyncWrite + Unpin) -> Gone {
    let mut listens = true;
    while let Some(message) = from_caller.next().await {
        match message {
            Ok(Message::Binary(piece)) if listens => {
                // An instance that does not listen any more may still have something to say.
                listens = to_inside.write_all(&piece).await.is_ok() && to_inside.flush().await.is_ok();
            }
            Ok(Message::Close(_)) => return Gone::Closed,
            Ok(_) => {}
            Err(error) if is_too_large(&error) => return Gone::TooLarge,
            Err(_) => return Gone::Closed,
        }
    }
    Gone::Closed
}

fn is_too_large(error: &axum::Error) -> bool {
    use std::error::Error;
    let mut next = error.source();
    while let Some(source) = next {
        // axum hides the type of its WebSocket library; the words are that library's.
        if source.to_string().starts_with("Space limit exceeded") {
            return true;
        }
        next = source.source();
    }
    false
}

async fn outward(
    mut from_inside: impl AsyncRead + Unpin,
    to_caller: &mut SplitSink<WebSocket, Message>,
    quiet: Duration,
) -> Option<Gone> {
    let mut buffer = bytes::BytesMut::with_capacity(PIECE);
    loop {
        buffer.reserve(PIECE);
        let message = match tokio::time::timeout(quiet, from_inside.read_buf(&mut buffer)).await {
            Ok(read) if read.as_ref().is_ok_and(|n| *n > 0) => Message::Binary(buffer.split().freeze()),
            Ok(_) => return None,
            Err(_) => Message::Ping(Bytes::new()),
        };
        if to_caller.send(message).await.is_err() {
            return Some(Gone::Unreachable);
        }
    }
}
