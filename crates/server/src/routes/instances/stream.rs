//! `GET /v1/instances/{id}/stream`: a WebSocket whose binary messages carry link frames.

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::response::Response;
use base::{Cause, Error};
use bytes::Bytes;
use domain::instance::State as Life;
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::reach::Pipe;
use crate::resolve;
use crate::state::App;

/// Largest piece that is passed on at once, bytes.
const PIECE: usize = 64 * 1024;

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
    Path(id): Path<String>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> ApiResult<Response> {
    let i = {
        let mut db = app.store.read().await?;
        resolve::instance(&mut db, &caller, &id).await?
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
    let pipe = app.reach.open(node, &i.id).await?;
    let upgrade = upgrade.max_message_size(MOST_MESSAGE).max_frame_size(MOST_MESSAGE);
    Ok(upgrade.on_upgrade(move |socket| carry(socket, pipe)))
}

/// Copies both ways until the instance's side ends or the caller goes away.
async fn carry(socket: WebSocket, pipe: Box<dyn Pipe>) {
    let (mut to_caller, mut from_caller) = socket.split();
    let (mut from_inside, mut to_inside) = tokio::io::split(pipe);
    let inward = async {
        while let Some(Ok(message)) = from_caller.next().await {
            match message {
                Message::Binary(piece) => {
                    to_inside.write_all(&piece).await?;
                    to_inside.flush().await?;
                }
                Message::Close(_) => break,
                Message::Text(_) | Message::Ping(_) | Message::Pong(_) => {}
            }
        }
        std::io::Result::Ok(())
    };
    let outward = async {
        let mut buffer = bytes::BytesMut::with_capacity(PIECE);
        loop {
            buffer.reserve(PIECE);
            if from_inside.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                break;
            }
            let piece: Bytes = buffer.split().freeze();
            if to_caller.send(Message::Binary(piece)).await.is_err() {
                return;
            }
        }
        let _ = to_caller.send(Message::Close(None)).await;
    };
    tokio::pin!(outward);
    tokio::select! {
        () = &mut outward => {}
        // The caller has gone: dropping the pipe tells the helper inside.
        _ = inward => {}
    }
}
