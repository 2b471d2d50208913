//! `POST /v1/invitations`

use api::member::{InviteUser, Invited};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base::{InvitationId, Money};
use domain::name::check_name;
use domain::rights::{Action, Role};
use serde_json::json;
use store::invitations::Invitation;

use super::{end, new_secret, write};
use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::Body;
use crate::letters::address;
use crate::routes::accounts::topup;
use crate::site_url::SiteUrl;
use crate::state::App;

/// Invites somebody to sign up with an account of his own (operator). The link is
/// shown only in this answer and can be accepted once.
#[utoipa::path(post, path = "/v1/invitations", operation_id = "invite_user", tag = "members", request_body = InviteUser,
    responses((status = 201, body = Invited), (status = 403, body = api::problem::Problem)))]
pub async fn invite_user(
    State(app): State<App>,
    Operator(caller, _): Operator<does::MakeAccounts>,
    SiteUrl(site): SiteUrl,
    Body(request): Body<InviteUser>,
) -> ApiResult<(StatusCode, Json<Invited>)> {
    let credit = match request.credit.as_deref().map(topup::amount).transpose()? {
        Some(credit) => {
            caller.operate(Action::TopUp)?;
            credit
        }
        None => Money::ZERO,
    };
    let (now, secret) = (app.now(), new_secret());
    let invitation = Invitation {
        id: InvitationId::new(now, rand::random()),
        account: None,
        into: None,
        role: Role::Owner,
        email: request.email.as_deref().map(address).transpose()?,
        account_name: request.account_name.as_deref().map(check_name).transpose()?,
        credit,
        created_by: caller.user.id.clone(),
        by: caller.user.name.clone(),
        created_at: now,
        expires_at: end(request.days, now)?,
        used_at: None,
        revoked_at: None,
    };
    let what = json!({ "email": invitation.email, "account_name": invitation.account_name, "credit": credit,
        "expires_at": invitation.expires_at });
    let note = caller.note("invite_user").to(&invitation.id).became(what);
    Ok((StatusCode::CREATED, Json(write(&app, &site, invitation, secret, note).await?)))
}
