//! `POST /v1/logout-everywhere`

use api::session::LogoutEverywhere;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use futures_util::FutureExt;
use serde_json::json;
use store::tokens;

use crate::auth::InPerson;
use crate::error::ApiResult;
use crate::extract::Body;
use crate::sessions::no_cookie;
use crate::state::App;

/// Signs the caller out everywhere, here too. API tokens stay unless they are named.
#[utoipa::path(post, path = "/v1/logout-everywhere", operation_id = "logout_everywhere", tag = "session",
    request_body = LogoutEverywhere,
    responses((status = 204), (status = 403, body = api::problem::Problem)))]
pub async fn logout_everywhere(
    State(app): State<App>,
    InPerson(caller): InPerson,
    Body(request): Body<LogoutEverywhere>,
) -> ApiResult<(StatusCode, HeaderMap)> {
    let (user, now, note) = (caller.user.id.clone(), app.now(), caller.note("logout_everywhere"));
    app.store
        .write(move |tx| {
            let (user, note) = (user.clone(), note.clone());
            async move {
                let sessions = tokens::end_all(tx, &user, None).await?;
                let tokens = if request.tokens { tokens::end_all_api(tx, &user).await? } else { 0 };
                let what = json!({ "sessions": sessions, "tokens": tokens });
                note.to(&user).was(what).write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok((StatusCode::NO_CONTENT, no_cookie()))
}
