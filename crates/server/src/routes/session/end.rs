//! `DELETE /v1/sessions/{id}`

use axum::extract::State;
use axum::http::StatusCode;
use base::{Error, TokenId};
use futures_util::FutureExt;
use store::tokens;

use crate::auth::InPerson;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::state::App;

/// Signs the caller out elsewhere.
#[utoipa::path(delete, path = "/v1/sessions/{id}", operation_id = "end_session", tag = "session",
    params(("id" = String, Path, description = "id of the session")),
    responses((status = 204), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem)))]
pub async fn end_session(
    State(app): State<App>,
    InPerson(caller): InPerson,
    Reference(id): Reference,
) -> ApiResult<StatusCode> {
    let missing = || Error::not_found("this session");
    let id: TokenId = id.parse().map_err(|_| missing())?;
    let (user, now, note) = (caller.user.id.clone(), app.now(), caller.note("end_session").to(&id));
    app.store
        .write(move |tx| {
            let (user, id, note) = (user.clone(), id.clone(), note.clone());
            async move {
                if !tokens::end(tx, &user, &id).await? {
                    return Err(missing().into());
                }
                note.write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
