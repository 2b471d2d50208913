//! `DELETE /v1/accounts/{id}/members/{user}`

use axum::extract::State;
use axum::http::StatusCode;
use domain::rights::{Action, Role};
use futures_util::FutureExt;
use serde_json::json;
use store::members;

use super::{find, refusal};
use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::References;
use crate::resolve;
use crate::state::App;

/// Takes a member out of an account. Everybody can leave by himself; the last owner stays.
#[utoipa::path(delete, path = "/v1/accounts/{id}/members/{user}", operation_id = "remove_member", tag = "members",
    params(("id" = String, Path, description = "id or name of the account"),
        ("user" = String, Path, description = "id, name or e-mail address of the member")),
    responses((status = 204), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn remove_member(
    State(app): State<App>,
    caller: Caller,
    References(id, user): References,
) -> ApiResult<StatusCode> {
    let (account, member) = {
        let mut db = app.store.read().await?;
        let account = resolve::known_account(&mut db, &caller, Some(&id)).await?.id;
        let leaves = caller.role(&account).is_some() && caller.is(&user) && caller.in_person().is_ok();
        if !leaves {
            caller.may(Action::ManageMembers, &account)?;
        }
        let member = find(&mut db, &account, &user).await?;
        if member.role == Role::Owner && !leaves {
            caller.may(Action::ManageOwners, &account)?;
        }
        (account, member)
    };
    let (now, user, was) = (app.now(), member.user, member.role);
    let note = caller.note("remove_member").to(&user).of(&account).was(json!({ "role": was }));
    app.store
        .write(move |tx| {
            let (account, user, note) = (account.clone(), user.clone(), note.clone());
            async move {
                refusal(members::remove(tx, &account, &user, was, now).await?)?;
                note.write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
