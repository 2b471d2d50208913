//! `POST /v1/instances/{id}/stop`

use api::instance::InstanceView;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use base::{Cause, Error};
use domain::instance::State as Life;
use futures_util::FutureExt;
use store::instances::{self, Reason};
use store::intents;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::state::App;
use crate::{resolve, views};

/// Stops: the meter ends now, the cards are given back, the data stay.
#[utoipa::path(post, path = "/v1/instances/{id}/stop", operation_id = "stop", tag = "instances",
    params(("id" = String, Path, description = "id, slug or name")),
    responses((status = 202, body = InstanceView), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn stop(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> ApiResult<(StatusCode, Json<InstanceView>)> {
    let found = {
        let mut db = app.store.read().await?;
        resolve::instance(&mut db, &caller, &id).await?
    };
    let (now, id) = (app.now(), found.id.clone());
    let reason = reason(&caller, Life::Stopped, "stopped");
    app.store
        .write(move |tx| {
            let (id, reason) = (id.clone(), reason.clone());
            async move { intents::stop(tx, &id, &reason, now).await }.boxed()
        })
        .await?;
    let mut db = app.store.read().await?;
    let after = instances::get(&mut db, &found.id).await?.ok_or_else(|| Error::not_found("the instance"))?;
    Ok((StatusCode::ACCEPTED, Json(views::instance(&app, &mut db, after).await?)))
}

/// The reason that a person gives by asking.
pub(super) fn reason(caller: &Caller, rest: Life, done: &str) -> Reason {
    let cause = if caller.user.operator { Cause::ByOperator } else { Cause::ByRenter };
    let hint = (rest == Life::Stopped).then(|| "its data are kept; `suanli start` starts it again".into());
    Reason { rest, cause, message: format!("{done} by {}", caller.user.name), hint }
}
