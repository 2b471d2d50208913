//! `POST /v1/logout`

use axum::extract::State;
use axum::http::StatusCode;
use futures_util::FutureExt;
use store::users;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::state::App;

/// Takes the token back that the request came with.
#[utoipa::path(post, path = "/v1/logout", operation_id = "logout", tag = "session", responses((status = 204)))]
pub async fn logout(State(app): State<App>, caller: Caller) -> ApiResult<StatusCode> {
    let hash = caller.token_hash;
    app.store
        .write(move |tx| {
            let hash = hash.clone();
            async move { users::delete_token(tx, &hash).await }.boxed()
        })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
