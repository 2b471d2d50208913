//! `GET /v1/invitations`

use api::Page;
use api::member::InvitationView;
use axum::Json;
use axum::extract::State;
use store::invitations;

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::state::App;
use crate::views;

/// Open invitations to sign up with an account of one's own, newest first (operator).
#[utoipa::path(get, path = "/v1/invitations", operation_id = "invitations", tag = "members",
    responses((status = 200, body = Page<InvitationView>), (status = 403, body = api::problem::Problem)))]
pub async fn invitations(State(app): State<App>, _: Operator<does::SeeSite>) -> ApiResult<Json<Page<InvitationView>>> {
    let mut db = app.store.read().await?;
    let open = invitations::open(&mut db, None, app.now()).await?;
    Ok(Json(Page { items: open.into_iter().map(views::invitation).collect(), next_cursor: None }))
}
