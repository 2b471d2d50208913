//! `DELETE /v1/invitations/{id}`

use axum::extract::State;
use axum::http::StatusCode;
use base::{Cause, Error, InvitationId};
use domain::rights::Action;
use futures_util::FutureExt;
use serde_json::json;
use store::invitations;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::state::App;

/// Takes an invitation back that nobody has accepted yet.
#[utoipa::path(delete, path = "/v1/invitations/{id}", operation_id = "revoke_invitation", tag = "members",
    params(("id" = String, Path, description = "id of the invitation")),
    responses((status = 204), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn revoke_invitation(
    State(app): State<App>,
    caller: Caller,
    Reference(id): Reference,
) -> ApiResult<StatusCode> {
    let missing = || Error::not_found("this invitation").hint("`suanli member ls` lists those into your account");
    let id: InvitationId = id.parse().map_err(|_| missing())?;
    let found = invitations::get(&mut *app.store.read().await?, &id).await?.ok_or_else(missing)?;
    let mut note = caller.note("revoke_invitation").to(&id);
    match &found.account {
        Some(account) if caller.knows(account) => {
            caller.may(Action::ManageMembers, account)?;
            note = note.of(account);
        }
        None if caller.operator().is_some() => caller.operate(Action::MakeAccounts)?,
        _ => return Err(missing().into()),
    }
    let (now, note) = (app.now(), note.was(json!({ "role": found.role, "email": found.email })));
    app.store
        .write(move |tx| {
            let (id, note) = (id.clone(), note.clone());
            async move {
                if !invitations::revoke(tx, &id, now).await? {
                    let what = "this invitation was accepted or taken back already";
                    return Err(Error::new(Cause::WrongState, what).into());
                }
                note.write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
