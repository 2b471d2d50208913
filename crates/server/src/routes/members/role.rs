//! `PUT /v1/accounts/{id}/members/{user}`

use api::member::{MemberView, SetRole};
use axum::Json;
use axum::extract::State;
use domain::rights::{Action, Role};
use futures_util::FutureExt;
use serde_json::json;
use store::members::{self, Belongs};

use super::list::view;
use super::{find, refusal};
use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::{Body, References};
use crate::resolve;
use crate::state::App;

/// Gives a member another role. Only an owner makes and unmakes owners; the last one stays.
#[utoipa::path(put, path = "/v1/accounts/{id}/members/{user}", operation_id = "set_member_role", tag = "members", request_body = SetRole,
    params(("id" = String, Path, description = "id or name of the account"),
        ("user" = String, Path, description = "id, name or e-mail address of the member")),
    responses((status = 200, body = MemberView), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn set_member_role(
    State(app): State<App>,
    caller: Caller,
    References(id, user): References,
    Body(request): Body<SetRole>,
) -> ApiResult<Json<MemberView>> {
    let (account, member) = {
        let mut db = app.store.read().await?;
        let account = resolve::account(&mut db, &caller, Some(&id), Action::ManageMembers).await?.id;
        let member = find(&mut db, &account, &user).await?;
        (account, member)
    };
    let role: Role = request.role.parse()?;
    if role == Role::Owner || member.role == Role::Owner {
        caller.may(Action::ManageOwners, &account)?;
    }
    let (now, user, was) = (app.now(), member.user.clone(), member.role);
    let note = caller.note("set_member_role").to(&user).of(&account);
    let note = note.was(json!({ "role": was })).became(json!({ "role": role }));
    app.store
        .write(move |tx| {
            let (account, user, note) = (account.clone(), user.clone(), note.clone());
            async move {
                refusal(members::set_role(tx, &account, &user, was, role).await?)?;
                note.write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(Json(view(Belongs { role, ..member })))
}
