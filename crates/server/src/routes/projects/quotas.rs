//! `GET /v1/accounts/{id}/projects/{project}/quotas`

use api::quota::Quotas;
use axum::Json;
use axum::extract::State;
use domain::project::Project;
use domain::rights::Action;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::References;
use crate::resolve;
use crate::routes::quotas::show::both;
use crate::state::App;

/// What a project may have at most, and what it has now. A name that nothing carries
/// is a project without quotas that has nothing.
#[utoipa::path(get, path = "/v1/accounts/{id}/projects/{project}/quotas", operation_id = "project_quotas", tag = "accounts",
    params(("id" = String, Path, description = "id or name of the account"), ("project" = String, Path, description = "name of the project")),
    responses((status = 200, body = Quotas), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn project_quotas(
    State(app): State<App>,
    caller: Caller,
    References(id, project): References,
) -> ApiResult<Json<Quotas>> {
    let mut db = app.store.read().await?;
    let account = resolve::account(&mut db, &caller, Some(&id), Action::SeeMembers).await?;
    let project: Project = project.parse()?;
    Ok(Json(both(&mut db, &account.id, Some(&project), app.now()).await?))
}
