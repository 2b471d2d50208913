//! `POST /v1/instances/{id}/stop`

use api::instance::InstanceView;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base::{Cause, Error};
use domain::instance::{Desired, State as Life};
use futures_util::FutureExt;
use store::instances::{self, Reason};
use store::intents;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::state::App;
use crate::{resolve, views};

/// Stops: the meter ends now, the cards are given back, the data stay.
#[utoipa::path(post, path = "/v1/instances/{id}/stop", operation_id = "stop", tag = "instances",
    params(("id" = String, Path, description = "id, slug or name")),
    responses((status = 202, body = InstanceView), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn stop(
    State(app): State<App>,
    caller: Caller,
    Reference(id): Reference,
) -> ApiResult<(StatusCode, Json<InstanceView>)> {
    let found = {
        let mut db = app.store.read().await?;
        resolve::instance(&mut db, &caller, &id).await?
    };
    let (now, id) = (app.now(), found.id.clone());
    // The store's guard refuses too, but by the state alone: what was asked for before says more.
    if found.desired != Desired::Running && !found.state.is_at_rest() {
        return Err(Error::new(Cause::WrongState, format!("the instance is being {} already", found.desired.as_str()))
            .hint("`suanli show` tells when that is done")
            .into());
    }
    let reason = reason(&caller, "stopped", Some("its data are kept; `suanli start` starts it again"));
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
pub(super) fn reason(caller: &Caller, done: &str, hint: Option<&str>) -> Reason {
    let cause = if caller.user.operator { Cause::ByOperator } else { Cause::ByRenter };
    let message = format!("{done} by {}", caller.user.name);
    Reason { rest: Life::Stopped, cause, message, hint: hint.map(str::to_owned) }
}
