//! `POST /v1/accounts/{id}/invitations`

use api::member::{InviteMember, Invited};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base::{InvitationId, Money};
use domain::rights::{Action, Role};
use serde_json::json;
use store::invitations::Invitation;

use super::{end, new_secret, write};
use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::{Body, Reference};
use crate::letters::address;
use crate::resolve;
use crate::site_url::SiteUrl;
use crate::state::App;

/// Invites somebody into an account by a link, which is shown only in this answer.
/// It can be accepted once.
#[utoipa::path(post, path = "/v1/accounts/{id}/invitations", operation_id = "invite_member", tag = "members", request_body = InviteMember,
    params(("id" = String, Path, description = "id or name of the account")),
    responses((status = 201, body = Invited), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem)))]
pub async fn invite_member(
    State(app): State<App>,
    caller: Caller,
    SiteUrl(site): SiteUrl,
    Reference(id): Reference,
    Body(request): Body<InviteMember>,
) -> ApiResult<(StatusCode, Json<Invited>)> {
    let account = {
        let mut db = app.store.read().await?;
        resolve::account(&mut db, &caller, Some(&id), Action::ManageMembers).await?
    };
    let role: Role = request.role.parse()?;
    if role == Role::Owner {
        caller.may(Action::ManageOwners, &account.id)?;
    }
    let email = request.email.as_deref().map(address).transpose()?;
    let (now, secret) = (app.now(), new_secret());
    let new = |id| Invitation {
        id,
        account: Some(account.id.clone()),
        into: Some(account.name.clone()),
        role,
        email: email.clone(),
        account_name: None,
        credit: Money::ZERO,
        created_by: caller.user.id.clone(),
        by: caller.user.name.clone(),
        created_at: now,
        expires_at: now,
        used_at: None,
        revoked_at: None,
    };
    let invitation = Invitation { expires_at: end(request.days, now)?, ..new(InvitationId::new(now, rand::random())) };
    let what = json!({ "role": role, "email": invitation.email, "expires_at": invitation.expires_at });
    let note = caller.note("invite_member").to(&invitation.id).of(&account.id).became(what);
    Ok((StatusCode::CREATED, Json(write(&app, &site, invitation, secret, note).await?)))
}
