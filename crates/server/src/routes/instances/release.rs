//! `POST /v1/instances/{id}/release`

use api::instance::InstanceView;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::rights::Action;
use futures_util::FutureExt;
use store::intents;

use super::accepted;
use super::stop::reason;
use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::resolve;
use crate::state::App;

/// Releases: stops if it runs, then removes its data for good.
#[utoipa::path(post, path = "/v1/instances/{id}/release", operation_id = "release", tag = "instances",
    params(("id" = String, Path, description = "id, slug or name")),
    responses((status = 202, body = InstanceView), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn release(
    State(app): State<App>,
    caller: Caller,
    Reference(id): Reference,
) -> ApiResult<(StatusCode, Json<InstanceView>)> {
    let found = {
        let mut db = app.store.read().await?;
        resolve::instance(&mut db, &caller, &id, Action::ChangeInstances).await?
    };
    let (now, id) = (app.now(), found.id.clone());
    let reason = reason(&caller, &found.account, "released", None);
    let note = caller.note("release").to(&id).of(&found.account);
    app.store
        .write(move |tx| {
            let (id, reason, note) = (id.clone(), reason.clone(), note.clone());
            async move {
                intents::release(tx, &id, &reason, now).await?;
                note.write(tx, now).await
            }
            .boxed()
        })
        .await?;
    accepted(&app, &found.id).await
}
