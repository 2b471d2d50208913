//! `POST /v1/instances/{id}/stop`

use api::instance::InstanceView;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base::{AccountId, Cause};
use domain::instance::State as Life;
use domain::rights::Action;
use futures_util::FutureExt;
use store::instances::Reason;
use store::intents;

use super::accepted;
use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::resolve;
use crate::state::App;

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
        resolve::instance(&mut db, &caller, &id, Action::ChangeInstances).await?
    };
    let (now, id) = (app.now(), found.id.clone());
    let reason = reason(&caller, &found.account, "stopped", Some("its data are kept; `suanli start` starts it again"));
    let note = caller.note("stop").to(&id).of(&found.account);
    app.store
        .write(move |tx| {
            let (id, reason, note) = (id.clone(), reason.clone(), note.clone());
            async move {
                intents::stop(tx, &id, &reason, now).await?;
                note.write(tx, now).await
            }
            .boxed()
        })
        .await?;
    accepted(&app, &found.id).await
}

/// The reason that a person gives by asking.
pub(super) fn reason(caller: &Caller, account: &AccountId, done: &str, hint: Option<&str>) -> Reason {
    let cause = if caller.role(account).is_some() { Cause::ByRenter } else { Cause::ByOperator };
    let message = format!("{done} by {}", caller.user.name);
    Reason { rest: Life::Stopped, cause, message, hint: hint.map(str::to_owned) }
}
