//! `POST /v1/users/{id}/totp/remove`

use axum::extract::State;
use axum::http::StatusCode;
use base::{Cause, Error};
use futures_util::FutureExt;
use store::totp;

use super::find_below;
use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::state::App;

/// Removes the second factor of a user who has lost it (operator).
#[utoipa::path(post, path = "/v1/users/{id}/totp/remove", operation_id = "remove_second_factor", tag = "users",
    params(("id" = String, Path, description = "id, name or e-mail address of the user")),
    responses((status = 204), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn remove_second_factor(
    State(app): State<App>,
    Operator(caller, _): Operator<does::ManageUsers>,
    Reference(id): Reference,
) -> ApiResult<StatusCode> {
    let person = find_below(&mut *app.store.read().await?, &caller, &id).await?;
    if !person.totp {
        return Err(Error::new(Cause::WrongState, "this user has no second factor").into());
    }
    let (now, id) = (app.now(), person.user.id.clone());
    let note = caller.note("remove_second_factor").to(&id);
    app.store
        .write(move |tx| {
            let (id, note) = (id.clone(), note.clone());
            async move {
                totp::remove(tx, &id).await?;
                note.write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
