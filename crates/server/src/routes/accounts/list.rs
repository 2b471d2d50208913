//! `GET /v1/accounts`

use api::account::AccountView;
use axum::Json;
use axum::extract::State;
use store::accounts;

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::state::App;
use crate::views;

/// Every account (operator).
#[utoipa::path(get, path = "/v1/accounts", operation_id = "accounts", tag = "accounts",
    responses((status = 200, body = Vec<AccountView>), (status = 403, body = api::problem::Problem)))]
pub async fn accounts(State(app): State<App>, _: Operator<does::SeeSite>) -> ApiResult<Json<Vec<AccountView>>> {
    let mut db = app.store.read().await?;
    Ok(Json(accounts::list(&mut db).await?.into_iter().map(views::account).collect()))
}
