//! `GET /v1/incidents`

use api::operator::Incidents;
use axum::Json;
use axum::extract::State;
use store::incidents;

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::state::App;
use crate::views;

/// Newest incidents that are listed.
const MOST: i64 = 200;

/// What somebody has to look at, open ones first (operator).
#[utoipa::path(get, path = "/v1/incidents", operation_id = "incidents", tag = "site",
    responses((status = 200, body = Incidents), (status = 403, body = api::problem::Problem)))]
pub async fn incidents(State(app): State<App>, _: Operator<does::SeeSite>) -> ApiResult<Json<Incidents>> {
    let mut db = app.store.read().await?;
    let incidents = incidents::list(&mut db, MOST).await?.into_iter().map(views::incident).collect();
    Ok(Json(Incidents { incidents }))
}
