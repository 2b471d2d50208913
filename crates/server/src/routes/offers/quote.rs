//! `POST /v1/quotes`

use api::instance::RentRequest;
use api::offer::QuoteView;
use axum::Json;
use axum::extract::State;
use domain::rights::Action;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Body;
use crate::rent::wish;
use crate::rules::sentences;
use crate::state::App;
use crate::{accounts, resolve};

/// What a rent request would cost; nothing is rented.
#[utoipa::path(post, path = "/v1/quotes", operation_id = "quote", tag = "offers", request_body = RentRequest,
    responses((status = 200, body = QuoteView), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn quote(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<RentRequest>,
) -> ApiResult<Json<QuoteView>> {
    let mut db = app.store.read().await?;
    let account = resolve::account(&mut db, &caller, request.account.as_deref(), Action::Rent).await?;
    let balance = accounts::balance(&app, &mut db, &account).await?;
    drop(db);
    let now = app.now();
    let wish = wish(&app, &request, &account.time_zone, now).await?;
    let burn = balance.burn.plus(wish.quote.rate)?;
    Ok(Json(QuoteView {
        currency: account.currency.clone(),
        free_now: wish.free_now,
        balance: balance.available,
        held: balance.held,
        money_ends_at: billing::guard::money_ends(balance.available, burn, now),
        stop_note: format!(
            "a stop gives the cards back and keeps the data; stopped it costs {} {} an hour",
            wish.quote.stopped_rate, account.currency
        ),
        rules: sentences(&wish.rules, None, &account.time_zone, &account.currency),
        quote: wish.quote,
    }))
}
