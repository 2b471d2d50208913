//! `GET /v1/accounts/{id}/members`

use api::member::{MemberView, Members, Who};
use axum::Json;
use axum::extract::State;
use base::Timestamp;
use domain::rights::Action;
use store::invitations;
use store::members::{self, Belongs};

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::state::App;
use crate::{resolve, views};

/// Who belongs to an account, and who is invited into it.
#[utoipa::path(get, path = "/v1/accounts/{id}/members", operation_id = "members", tag = "members",
    params(("id" = String, Path, description = "id or name of the account")),
    responses((status = 200, body = Members), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem)))]
pub async fn members(State(app): State<App>, caller: Caller, Reference(id): Reference) -> ApiResult<Json<Members>> {
    let mut db = app.store.read().await?;
    let account = resolve::account(&mut db, &caller, Some(&id), Action::SeeMembers).await?;
    let items = members::of(&mut db, &account.id).await?.into_iter().map(view).collect();
    let open = invitations::open(&mut db, Some(&account.id), app.now()).await?;
    Ok(Json(Members { items, invitations: open.into_iter().map(views::invitation).collect() }))
}

/// A member as others see him.
pub(super) fn view(m: Belongs) -> MemberView {
    MemberView {
        user: Who { id: m.user, name: m.name, email: m.email },
        role: m.role.to_string(),
        since: Some(m.since).filter(|at| *at > Timestamp::EPOCH),
    }
}
