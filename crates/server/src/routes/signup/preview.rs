//! `GET /v1/invitations/{secret}/preview`

use api::sign_up::InvitationPreview;
use axum::Json;
use axum::extract::State;
use store::invitations;

use crate::auth::token_hash;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::joining::not_open;
use crate::state::App;

/// What an invitation is for, to whoever has its secret.
#[utoipa::path(get, path = "/v1/invitations/{secret}/preview", operation_id = "invitation_preview", tag = "members",
    security(()),
    params(("secret" = String, Path, description = "what is behind `#` in the link")),
    responses((status = 200, body = InvitationPreview), (status = 404, body = api::problem::Problem)))]
pub async fn invitation_preview(
    State(app): State<App>,
    Reference(secret): Reference,
) -> ApiResult<Json<InvitationPreview>> {
    let found = {
        let mut db = app.store.read().await?;
        invitations::by_hash(&mut db, &token_hash(secret.trim())).await?
    };
    let i = found.filter(|i| i.is_open(app.now())).ok_or_else(not_open)?;
    let role = i.role.to_string();
    Ok(Json(InvitationPreview { account: i.into, role, email: i.email, by: i.by, expires_at: i.expires_at }))
}
