//! `GET` and `PUT /v1/audit-log/retention`

use api::audit_log::Retention;
use axum::Json;
use axum::extract::State;
use base::{Cause, Error};
use futures_util::FutureExt;
use serde_json::json;
use store::audit_log;

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::Body;
use crate::state::App;

/// Longest time that can be set, days.
const MOST_DAYS: i64 = 36_500;

/// For how long entries of the audit log are kept (operator).
#[utoipa::path(get, path = "/v1/audit-log/retention", operation_id = "audit_log_retention", tag = "audit-log",
    responses((status = 200, body = Retention), (status = 403, body = api::problem::Problem)))]
pub async fn audit_log_retention(
    State(app): State<App>,
    _: Operator<does::ReadAuditLog>,
) -> ApiResult<Json<Retention>> {
    let mut db = app.store.read().await?;
    Ok(Json(Retention { days: audit_log::keep_days(&mut db).await? }))
}

/// Keeps entries of the audit log for so long: older ones are removed within a day.
/// What is left can still be checked (operator).
#[utoipa::path(put, path = "/v1/audit-log/retention", operation_id = "set_audit_log_retention", tag = "audit-log", request_body = Retention,
    responses((status = 200, body = Retention), (status = 403, body = api::problem::Problem)))]
pub async fn set_audit_log_retention(
    State(app): State<App>,
    Operator(caller, _): Operator<does::ManageSite>,
    Body(request): Body<Retention>,
) -> ApiResult<Json<Retention>> {
    let days = request.days;
    if days.is_some_and(|days| !(1..=MOST_DAYS).contains(&days)) {
        return Err(Error::new(
            Cause::InvalidCount,
            format!("entries are kept for 1 to {MOST_DAYS} days, or for ever"),
        )
        .hint("leave `days` out to keep them for ever")
        .into());
    }
    let (now, note) = (app.now(), caller.note("set_audit_log_retention"));
    app.store
        .write(move |tx| {
            let note = note.clone();
            async move {
                let was = audit_log::keep_days(tx).await?;
                audit_log::set_keep_days(tx, days).await?;
                note.was(json!({ "days": was })).became(json!({ "days": days })).write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(Json(Retention { days }))
}
