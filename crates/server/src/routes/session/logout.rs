//! `POST /v1/logout`

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use futures_util::FutureExt;
use store::tokens;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::sessions::no_cookie;
use crate::state::App;

/// Takes the token back that the request came with.
#[utoipa::path(post, path = "/v1/logout", operation_id = "logout", tag = "session", responses((status = 204)))]
pub async fn logout(State(app): State<App>, caller: Caller) -> ApiResult<(StatusCode, HeaderMap)> {
    let (user, id, now) = (caller.user.id.clone(), caller.token.id.clone(), app.now());
    let note = caller.note("logout").to(&id);
    let session = caller.token.session.is_some();
    app.store
        .write(move |tx| {
            let (user, id, note) = (user.clone(), id.clone(), note.clone());
            async move {
                match session {
                    true => tokens::end(tx, &user, &id).await?,
                    false => tokens::delete_api(tx, &user, &id).await?,
                };
                note.write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok((StatusCode::NO_CONTENT, no_cookie()))
}
