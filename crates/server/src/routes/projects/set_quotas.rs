//! `PUT /v1/accounts/{id}/projects/{project}/quotas`

use api::quota::{Quotas, SetQuotas};
use axum::Json;
use axum::extract::State;
use domain::project::Project;
use domain::rights::Action;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::{Body, References};
use crate::resolve;
use crate::routes::quotas::set::replace;
use crate::state::App;

/// Sets every quota of a project anew; what is left out is not limited. They hold
/// beside those of the account, and what runs goes on.
#[utoipa::path(put, path = "/v1/accounts/{id}/projects/{project}/quotas", operation_id = "set_project_quotas", tag = "accounts", request_body = SetQuotas,
    params(("id" = String, Path, description = "id or name of the account"), ("project" = String, Path, description = "name of the project")),
    responses((status = 200, body = Quotas), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn set_project_quotas(
    State(app): State<App>,
    caller: Caller,
    References(id, project): References,
    Body(request): Body<SetQuotas>,
) -> ApiResult<Json<Quotas>> {
    let account = {
        let mut db = app.store.read().await?;
        resolve::account(&mut db, &caller, Some(&id), Action::SetProjectQuotas).await?.id
    };
    let project: Project = project.parse()?;
    let note = caller.note("set_project_quotas").to(&project).of(&account);
    replace(&app, account, Some(project), request, note).await
}
