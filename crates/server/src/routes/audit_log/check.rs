//! `GET /v1/audit-log/check`

use api::audit_log::AuditCheck;
use axum::Json;
use axum::extract::State;
use futures_util::FutureExt;
use store::audit_log;

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::state::App;

/// Goes along the whole audit log and says whether every entry follows from the one
/// before (operator).
#[utoipa::path(get, path = "/v1/audit-log/check", operation_id = "check_audit_log", tag = "audit-log",
    responses((status = 200, body = AuditCheck), (status = 403, body = api::problem::Problem)))]
pub async fn check_audit_log(State(app): State<App>, _: Operator<does::ReadAuditLog>) -> ApiResult<Json<AuditCheck>> {
    // As of one moment: what is removed meanwhile because its time is over must not look like a gap.
    let checked = app.store.snapshot(|db| async move { audit_log::check(db).await }.boxed()).await?;
    Ok(Json(AuditCheck { entries: checked.entries, intact: checked.broken_at.is_none(), broken_at: checked.broken_at }))
}
