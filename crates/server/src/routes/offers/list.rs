//! `GET /v1/offers`

use api::offer::{OfferQuery, Offers};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Params;
use crate::state::App;
use crate::stock;

/// What can be rented now, cheapest first.
#[utoipa::path(get, path = "/v1/offers", operation_id = "offers", tag = "offers", params(OfferQuery),
    responses((status = 200, body = Offers), (status = 422, body = api::problem::Problem)))]
pub async fn offers(
    State(app): State<App>,
    _: Caller,
    Params(query): Params<OfferQuery>,
) -> ApiResult<impl IntoResponse> {
    Ok(([(CONTENT_TYPE, "application/json")], stock::answer(&app, &query).await?))
}
