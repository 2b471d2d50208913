//! `GET /v1/bill`

use api::bill::{Bill, BillQuery};
use axum::Json;
use axum::extract::State;
use domain::rights::Action;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Params;
use crate::state::App;
use crate::{bills, resolve};

/// A month's bill, with the proof behind each line.
#[utoipa::path(get, path = "/v1/bill", operation_id = "bill", tag = "money", params(BillQuery),
    responses((status = 200, body = Bill), (status = 404, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn bill(State(app): State<App>, caller: Caller, Params(query): Params<BillQuery>) -> ApiResult<Json<Bill>> {
    let mut db = app.store.read().await?;
    let account = resolve::account(&mut db, &caller, query.account.as_deref(), Action::SeeMoney).await?;
    Ok(Json(bills::bill(&app, &mut db, &account, query.month.as_deref()).await?))
}
