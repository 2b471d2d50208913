//! `GET /v1/backup`

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use base::Error;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::state::App;

/// Pieces that wait for a slow reader.
const WAITING: usize = 4;

/// Everything in the database as it is at one moment, as lines of JSON (operator).
/// Whole only if its last line, with row counts and a checksum, has arrived.
#[utoipa::path(get, path = "/v1/backup", operation_id = "backup", tag = "site",
    responses((status = 200, description = "lines of JSON; the last one begins with {\"end\"", content_type = "application/x-ndjson", body = String), (status = 403, body = api::problem::Problem)))]
pub async fn backup(State(app): State<App>, Operator(caller, _): Operator<does::Backup>) -> ApiResult<Response> {
    let (send, receive) = mpsc::channel(WAITING);
    let made_at = app.now();
    let note = caller.note("backup");
    app.store
        .write(move |tx| {
            let note = note.clone();
            async move { note.write(tx, made_at).await }.boxed()
        })
        .await?;
    tracing::info!(user = %caller.user.name, "a backup is taken");
    let work = tokio::spawn(async move { store::backup::stream(&app.store, made_at, send).await });
    let pieces = ReceiverStream::new(receive).map(|piece| Ok(Bytes::from(piece)));
    // What went wrong must break the answer off: it must not look like an end.
    let end = async move {
        match work.await {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(error),
            Err(error) => Some(Error::internal(error)),
        }
    };
    let end = futures_util::stream::once(end).filter_map(|error| {
        std::future::ready(error.map(|error| {
            tracing::error!(%error, "a backup broke off");
            Err(std::io::Error::other("the backup broke off"))
        }))
    });
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"suanli-backup.jsonl\""),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, Body::from_stream(pieces.chain(end))).into_response())
}
