//! `POST /v1/invitations/accept`

use api::member::AcceptInvitation;
use api::session::Membership;
use axum::Json;
use axum::extract::State;
use base::{Cause, Error};
use futures_util::FutureExt;
use serde_json::json;
use store::{invitations, members, users};

use crate::auth::{InPerson, token_hash};
use crate::error::ApiResult;
use crate::extract::Body;
use crate::state::App;
use crate::{joining, views};

/// Accepts an invitation into an account, as the user who is signed in.
#[utoipa::path(post, path = "/v1/invitations/accept", operation_id = "accept_invitation", tag = "members", request_body = AcceptInvitation,
    responses((status = 200, body = Membership), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn accept_invitation(
    State(app): State<App>,
    InPerson(caller): InPerson,
    Body(request): Body<AcceptInvitation>,
) -> ApiResult<Json<Membership>> {
    let missing = || {
        Error::not_found("this invitation")
            .hint("it may have been accepted, taken back or have run out: ask for a new one")
    };
    let now = app.now();
    let (found, me) = {
        let mut db = app.store.read().await?;
        let found = invitations::by_hash(&mut db, &token_hash(request.secret.trim())).await?;
        let me = users::find(&mut db, caller.user.id.as_str()).await?.ok_or_else(missing)?;
        (found.filter(|i| i.is_open(now)).ok_or_else(missing)?, me)
    };
    let Some(account) = found.account.clone() else {
        return Err(Error::new(Cause::WrongState, "this invitation is to sign up with an account of one's own")
            .hint("sign out, open its link and sign up there")
            .into());
    };
    if found.email.is_some() && found.email != me.email {
        return Err(Error::new(Cause::Forbidden, "this invitation is for somebody with another e-mail address")
            .hint("ask for one for your address, or for one without an address")
            .into());
    }
    let note = caller.note("accept_invitation").to(&found.id).of(&account).became(json!({ "role": found.role }));
    let (user, into) = (caller.user.clone(), account.clone());
    app.store
        .write(move |tx| {
            let (found, user, into, note) = (found.clone(), user.clone(), into.clone(), note.clone());
            async move {
                if !invitations::use_up(tx, &found.id, &user.id, now).await? {
                    return Err(missing().into());
                }
                if !members::add(tx, &into, &user.id, found.role, now).await? {
                    return Err(Error::new(Cause::AlreadyExists, "you belong to this account already").into());
                }
                joining::tell_joined(tx, &user, &found, &into, now).await?;
                note.write(tx, now).await
            }
            .boxed()
        })
        .await?;
    let mut db = app.store.read().await?;
    let joined = users::memberships(&mut db, &caller.user.id).await?.into_iter().find(|m| m.account == account);
    let joined = joined.ok_or_else(|| Error::not_found("the account"))?;
    Ok(Json(views::membership(&joined)))
}
