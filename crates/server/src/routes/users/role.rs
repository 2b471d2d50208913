//! `PUT /v1/users/{id}/role`

use api::user::{SetOperatorRole, UserRow};
use axum::Json;
use axum::extract::State;
use base::{Cause, Error};
use domain::rights::OperatorRole;
use futures_util::FutureExt;
use serde_json::json;
use store::users;

use super::{find, row};
use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::{Body, Reference};
use crate::state::App;

/// Makes a user an operator, another one, or none. The last admin stays (operator).
#[utoipa::path(put, path = "/v1/users/{id}/role", operation_id = "set_operator_role", tag = "users", request_body = SetOperatorRole,
    params(("id" = String, Path, description = "id, name or e-mail address of the user")),
    responses((status = 200, body = UserRow), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn set_operator_role(
    State(app): State<App>,
    Operator(caller, _): Operator<does::ManageSite>,
    Reference(id): Reference,
    Body(request): Body<SetOperatorRole>,
) -> ApiResult<Json<UserRow>> {
    let person = find(&mut *app.store.read().await?, &id).await?;
    let role: Option<OperatorRole> = request.operator_role.as_deref().map(str::parse).transpose()?;
    let (now, id) = (app.now(), person.user.id.clone());
    let note = caller.note("set_operator_role").to(&id);
    let note = note.was(json!({ "operator_role": person.user.operator })).became(json!({ "operator_role": role }));
    app.store
        .write(move |tx| {
            let (id, note) = (id.clone(), note.clone());
            async move {
                if !users::set_operator(tx, &id, role).await? {
                    return Err(Error::new(Cause::WrongState, "a site keeps its last admin")
                        .hint("make somebody else an admin first: `suanli user role USER admin`")
                        .into());
                }
                note.write(tx, now).await
            }
            .boxed()
        })
        .await?;
    let mut db = app.store.read().await?;
    let person = find(&mut db, person.user.id.as_str()).await?;
    Ok(Json(row(&mut db, person).await?))
}
