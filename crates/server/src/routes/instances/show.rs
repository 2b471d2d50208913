//! `GET /v1/instances/{id}`

use api::instance::InstanceView;
use axum::Json;
use axum::extract::State;
use domain::rights::Action;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::state::App;
use crate::{resolve, views};

/// One instance, by id, slug or unambiguous name.
#[utoipa::path(get, path = "/v1/instances/{id}", operation_id = "instance", tag = "instances",
    params(("id" = String, Path, description = "id, slug or name")),
    responses((status = 200, body = InstanceView), (status = 404, body = api::problem::Problem)))]
pub async fn instance(
    State(app): State<App>,
    caller: Caller,
    Reference(id): Reference,
) -> ApiResult<Json<InstanceView>> {
    let mut db = app.store.read().await?;
    let found = resolve::instance(&mut db, &caller, &id, Action::SeeInstances).await?;
    Ok(Json(views::instance(&app, &mut db, found).await?))
}
