//! `GET /v1/balance`

use api::account::Balance;
use api::bill::AccountQuery;
use axum::Json;
use axum::extract::State;
use domain::rights::Action;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Params;
use crate::state::App;
use crate::{accounts, resolve};

/// What is in an account, and when it ends.
#[utoipa::path(get, path = "/v1/balance", operation_id = "balance", tag = "money", params(AccountQuery),
    responses((status = 200, body = Balance), (status = 404, body = api::problem::Problem)))]
pub async fn balance(
    State(app): State<App>,
    caller: Caller,
    Params(query): Params<AccountQuery>,
) -> ApiResult<Json<Balance>> {
    let mut db = app.store.read().await?;
    let account = resolve::account(&mut db, &caller, query.account.as_deref(), Action::SeeMoney).await?;
    Ok(Json(accounts::balance(&app, &mut db, &account).await?))
}
