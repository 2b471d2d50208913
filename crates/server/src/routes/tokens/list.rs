//! `GET /v1/tokens`

use api::Page;
use api::token::TokenView;
use axum::Json;
use axum::extract::State;
use store::tokens::{self, ApiToken};

use crate::auth::InPerson;
use crate::error::ApiResult;
use crate::state::App;

/// The caller's API tokens, newest first.
#[utoipa::path(get, path = "/v1/tokens", operation_id = "tokens", tag = "tokens",
    responses((status = 200, body = Page<TokenView>), (status = 403, body = api::problem::Problem)))]
pub async fn tokens(State(app): State<App>, InPerson(caller): InPerson) -> ApiResult<Json<Page<TokenView>>> {
    let mut db = app.store.read().await?;
    let items = tokens::api_tokens(&mut db, &caller.user.id).await?.into_iter().map(view).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

/// A token as its owner sees it.
pub(super) fn view(token: ApiToken) -> TokenView {
    TokenView {
        id: token.id,
        name: token.name,
        scopes: token.limits.scopes.iter().map(ToString::to_string).collect(),
        account: token.limits.account,
        created_at: token.created_at,
        expires_at: token.expires_at,
        last_used_at: token.used_at,
    }
}
