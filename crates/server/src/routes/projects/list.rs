//! `GET /v1/accounts/{id}/projects`

use api::quota::{ProjectView, Projects};
use axum::Json;
use axum::extract::State;
use domain::rights::Action;
use store::quotas;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::resolve;
use crate::routes::quotas::show::view;
use crate::state::App;

/// Projects of an account by name, with what each may have at most and has now: those
/// that something unreleased belongs to, that spent something today, or that have quotas.
#[utoipa::path(get, path = "/v1/accounts/{id}/projects", operation_id = "projects", tag = "accounts",
    params(("id" = String, Path, description = "id or name of the account")),
    responses((status = 200, body = Projects), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem)))]
pub async fn projects(State(app): State<App>, caller: Caller, Reference(id): Reference) -> ApiResult<Json<Projects>> {
    let mut db = app.store.read().await?;
    let account = resolve::account(&mut db, &caller, Some(&id), Action::SeeMembers).await?.id;
    let mut most = quotas::of_projects(&mut db, &account).await?;
    let mut used = quotas::by_project(&mut db, &account, app.now()).await?;
    for name in most.keys() {
        if !used.contains_key(name) {
            used.insert(name.clone(), quotas::nothing());
        }
    }
    let view = |(project, used)| ProjectView {
        quotas: view(most.remove(&project).unwrap_or_default()),
        used: view(used),
        project,
    };
    Ok(Json(Projects { items: used.into_iter().map(view).collect() }))
}
