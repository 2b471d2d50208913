//! `GET /v1/audit-log/export`

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use base::{Error, Result};
use futures_util::{FutureExt, TryStreamExt, stream};
use store::audit_log;

use super::list::view;
use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::state::App;

/// Entries that are read at once.
const BATCH: i64 = 500;

/// The whole audit log as lines of JSON, oldest first, up to the moment of the
/// request (operator).
#[utoipa::path(get, path = "/v1/audit-log/export", operation_id = "export_audit_log", tag = "audit-log",
    responses((status = 200, description = "lines of JSON, each an AuditEntry", content_type = "application/x-ndjson", body = String), (status = 403, body = api::problem::Problem)))]
pub async fn export_audit_log(
    State(app): State<App>,
    Operator(caller, _): Operator<does::ReadAuditLog>,
) -> ApiResult<Response> {
    let (now, note) = (app.now(), caller.note("export_audit_log"));
    app.store
        .write(move |tx| {
            let note = note.clone();
            async move { note.write(tx, now).await }.boxed()
        })
        .await?;
    let last = audit_log::list(&mut *app.store.read().await?, &audit_log::Filter::default(), i64::MAX, 1).await?;
    let last = last.first().and_then(|e| e.seq).unwrap_or(0);
    // What went wrong must break the answer off: it must not look like an end.
    let pieces = stream::try_unfold((app, 0), move |(app, after)| async move {
        match piece(&app, after, last).await {
            Ok((_, next)) if next == after => Ok(None),
            Ok((lines, next)) => Ok(Some((Bytes::from(lines), (app, next)))),
            Err(error) => {
                tracing::error!(%error, "an export of the audit log broke off");
                Err(std::io::Error::other("the export broke off"))
            }
        }
    });
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"suanli-audit-log.jsonl\""),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, Body::from_stream(pieces.into_stream())).into_response())
}

/// Lines of the entries behind the number `after`, and the number of the last of them.
async fn piece(app: &App, after: i64, last: i64) -> Result<(Vec<u8>, i64)> {
    let entries = audit_log::after(&mut *app.store.read().await?, after, BATCH).await?;
    let (mut lines, mut seq) = (Vec::new(), after);
    for entry in entries.into_iter().map(view).filter(|e| e.seq <= last) {
        seq = entry.seq;
        serde_json::to_writer(&mut lines, &entry).map_err(Error::internal)?;
        lines.push(b'\n');
    }
    Ok((lines, seq))
}
