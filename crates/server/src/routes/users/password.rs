//! `POST /v1/users/{id}/password`

use api::user::OneTimePassword;
use axum::Json;
use axum::extract::State;
use futures_util::FutureExt;
use store::{tokens, users};

use super::find_below;
use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::password;
use crate::state::App;

/// Gives a user a new password, which is shown only in this answer. His sessions end (operator).
#[utoipa::path(post, path = "/v1/users/{id}/password", operation_id = "give_password", tag = "users",
    params(("id" = String, Path, description = "id, name or e-mail address of the user")),
    responses((status = 200, body = OneTimePassword), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn give_password(
    State(app): State<App>,
    Operator(caller, _): Operator<does::ManageUsers>,
    Reference(id): Reference,
) -> ApiResult<Json<OneTimePassword>> {
    let person = find_below(&mut *app.store.read().await?, &caller, &id).await?;
    let fresh = password::one_time();
    let hash = password::hash(&app, fresh.clone()).await?;
    let (now, id) = (app.now(), person.user.id.clone());
    let note = caller.note("give_password").to(&id);
    app.store
        .write(move |tx| {
            let (id, hash, note) = (id.clone(), hash.clone(), note.clone());
            async move {
                users::set_password(tx, &id, &hash).await?;
                tokens::end_all(tx, &id, None).await?;
                note.write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(Json(OneTimePassword { user: person.user.name, password: fresh }))
}
