//! `POST /v1/prices/lint`

use api::operator::{LintView, PriceBookText};
use axum::Json;
use axum::extract::State;
use billing::book::lint;

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::Body;
use crate::prices::findings;
use crate::state::App;

/// Checks a price book against the catalogue and the book in force; nothing is loaded.
#[utoipa::path(post, path = "/v1/prices/lint", operation_id = "lint_prices", tag = "prices", request_body = PriceBookText,
    responses((status = 200, body = LintView), (status = 403, body = api::problem::Problem)))]
pub async fn lint_prices(
    State(app): State<App>,
    _: Operator<does::CheckPrices>,
    Body(request): Body<PriceBookText>,
) -> ApiResult<Json<LintView>> {
    let found = lint(&request.text, app.catalogue, Some(&app.book()));
    Ok(Json(LintView { errors: findings(&found.errors), warnings: findings(&found.warnings) }))
}
