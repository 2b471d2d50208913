//! `PUT /v1/prices`

use api::operator::{PriceBookText, PricesView};
use axum::Json;
use axum::extract::State;
use billing::PriceBook;
use serde_json::json;

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::Body;
use crate::prices::{findings, load};
use crate::state::App;

/// Puts a price book in force (operator). Running instances keep their price.
#[utoipa::path(put, path = "/v1/prices", operation_id = "load_prices", tag = "prices", request_body = PriceBookText,
    responses((status = 200, body = PricesView), (status = 403, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn load_prices(
    State(app): State<App>,
    Operator(caller, _): Operator<does::LoadPrices>,
    Body(request): Body<PriceBookText>,
) -> ApiResult<Json<PricesView>> {
    let (book, warnings) = PriceBook::parse(&request.text, app.catalogue)?;
    let (version, now) = (book.version.clone(), app.now());
    let (was, became) = (json!({ "version": app.book().version }), json!({ "version": version }));
    let note = caller.note("load_prices").to(&version).was(was).became(became);
    load(&app.store, &version, &request.text, Some(note), now).await?;
    app.set_book(book);
    Ok(Json(PricesView { version, loaded_at: now, text: request.text, warnings: findings(&warnings) }))
}
