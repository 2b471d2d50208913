//! `GET /v1/accounts/{id}/quotas`

use api::quota::{Amounts, Quotas};
use axum::Json;
use axum::extract::State;
use base::{AccountId, Result, Timestamp};
use domain::project::Project;
use domain::rights::Action;
use sqlx::AnyConnection;
use store::quotas;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::resolve;
use crate::state::App;

/// What an account may have at most, and what it has now.
#[utoipa::path(get, path = "/v1/accounts/{id}/quotas", operation_id = "quotas", tag = "accounts",
    params(("id" = String, Path, description = "id or name of the account")),
    responses((status = 200, body = Quotas), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem)))]
pub async fn quotas(State(app): State<App>, caller: Caller, Reference(id): Reference) -> ApiResult<Json<Quotas>> {
    let mut db = app.store.read().await?;
    let account = resolve::account(&mut db, &caller, Some(&id), Action::SeeMembers).await?;
    Ok(Json(both(&mut db, &account.id, None, app.now()).await?))
}

/// Quotas of an account, or of one of its projects, and what is used.
pub(in crate::routes) async fn both(
    db: &mut AnyConnection,
    account: &AccountId,
    project: Option<&Project>,
    now: Timestamp,
) -> Result<Quotas> {
    let quotas = quotas::of(db, account, project).await?;
    let used = quotas::used(db, account, project, None, now).await?;
    Ok(Quotas { quotas: view(quotas), used: view(used) })
}

/// Amounts as the API shows them.
pub(in crate::routes) fn view(a: quotas::Amounts) -> Amounts {
    Amounts {
        cards: a.cards,
        cards_total: a.cards_total,
        instances: a.instances,
        storage_gib: a.storage_gib,
        spend_per_day: a.spend_per_day,
    }
}
