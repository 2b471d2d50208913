//! `GET /v1/gpus`

use axum::Json;
use axum::extract::State;
use domain::catalogue::GpuModel;

use crate::auth::Caller;
use crate::state::App;

/// The catalogue: every GPU model that is known, with its facts and their sources.
#[utoipa::path(get, path = "/v1/gpus", operation_id = "gpus", tag = "offers", responses((status = 200, body = Vec<GpuModel>)))]
pub async fn gpus(State(app): State<App>, _: Caller) -> Json<&'static [GpuModel]> {
    Json(app.catalogue.models())
}
