//! `GET /v1/prices`

use api::operator::PricesView;
use axum::Json;
use axum::extract::State;
use base::Error;
use billing::book::lint;
use store::prices;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::prices::findings;
use crate::state::App;

/// The price book in force.
#[utoipa::path(get, path = "/v1/prices", operation_id = "prices", tag = "prices", responses((status = 200, body = PricesView)))]
pub async fn prices(State(app): State<App>, _: Caller) -> ApiResult<Json<PricesView>> {
    let mut db = app.store.read().await?;
    let stored = prices::current(&mut db).await?.ok_or_else(|| Error::internal("no price book is in force"))?;
    let warnings = findings(&lint(&stored.text, app.catalogue, None).warnings);
    Ok(Json(PricesView { version: stored.version, loaded_at: stored.loaded_at, text: stored.text, warnings }))
}
