//! `GET /metrics`

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use crate::error::ApiResult;
use crate::metrics;
use crate::state::App;

/// Counters for Prometheus, in its text format. No secrets, nothing by instance.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "site", security(()),
    responses((status = 200, content_type = "application/openmetrics-text", body = String)))]
pub async fn metrics(State(app): State<App>) -> ApiResult<impl IntoResponse> {
    let text = metrics::text(&app).await?;
    Ok(([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text))
}
