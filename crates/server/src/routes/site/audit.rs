//! `GET /v1/audit`

use api::operator::AuditReport;
use axum::Json;
use axum::extract::State;
use store::audit;

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::state::App;

/// Recomputes every charge and balance (operator). Right books have no differences.
#[utoipa::path(get, path = "/v1/audit", operation_id = "audit", tag = "site",
    responses((status = 200, body = AuditReport), (status = 403, body = api::problem::Problem)))]
pub async fn audit(State(app): State<App>, _: Operator<does::AuditBooks>) -> ApiResult<Json<AuditReport>> {
    let found = app.store.snapshot(|db| Box::pin(audit::run(db))).await?;
    Ok(Json(AuditReport {
        at: app.now(),
        accounts: found.accounts,
        segments: found.segments,
        postings: found.postings,
        differences: found.differences,
    }))
}
