//! `GET /v1/instances/{id}/events`

use api::Page;
use api::event::EventView;
use axum::Json;
use axum::extract::State;
use domain::rights::Action;
use serde::Deserialize;
use store::events::after;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::{Params, Reference};
use crate::state::App;
use crate::{resolve, views};

/// Entries of one page.
const PAGE: i64 = 200;

/// Where to go on.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// Only events after this position (`next_cursor` of the page before).
    #[serde(default)]
    after: i64,
}

/// What happened to an instance, oldest first.
#[utoipa::path(get, path = "/v1/instances/{id}/events", operation_id = "instance_events", tag = "instances",
    params(("id" = String, Path, description = "id, slug or name"), After),
    responses((status = 200, body = Page<EventView>), (status = 404, body = api::problem::Problem)))]
pub async fn instance_events(
    State(app): State<App>,
    caller: Caller,
    Reference(id): Reference,
    Params(query): Params<After>,
) -> ApiResult<Json<Page<EventView>>> {
    let mut db = app.store.read().await?;
    let i = resolve::instance(&mut db, &caller, &id, Action::SeeInstances).await?;
    let found = after(&mut db, &caller.audience(), Some(i.id.as_str()), query.after, PAGE).await?;
    let more = i64::try_from(found.len()).is_ok_and(|n| n == PAGE);
    let next_cursor = found.last().filter(|_| more).map(|e| e.seq.to_string());
    Ok(Json(Page { items: found.into_iter().map(views::event).collect(), next_cursor }))
}
