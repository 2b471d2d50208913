//! `DELETE /v1/tokens/{id}`

use axum::extract::State;
use axum::http::StatusCode;
use base::{Error, TokenId};
use futures_util::FutureExt;
use store::tokens;

use crate::auth::InPerson;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::state::App;

/// Takes an API token of the caller's back: it stops working at once.
#[utoipa::path(delete, path = "/v1/tokens/{id}", operation_id = "delete_token", tag = "tokens",
    params(("id" = String, Path, description = "id of the token")),
    responses((status = 204), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem)))]
pub async fn delete_token(
    State(app): State<App>,
    InPerson(caller): InPerson,
    Reference(id): Reference,
) -> ApiResult<StatusCode> {
    let missing = || Error::not_found("this token").hint("`suanli token ls` lists yours");
    let id: TokenId = id.parse().map_err(|_| missing())?;
    let (now, owner, note) = (app.now(), caller.user.id.clone(), caller.note("delete_token").to(&id));
    app.store
        .write(move |tx| {
            let (id, owner, note) = (id.clone(), owner.clone(), note.clone());
            async move {
                if !tokens::delete_api(tx, &owner, &id).await? {
                    return Err(missing().into());
                }
                note.write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
