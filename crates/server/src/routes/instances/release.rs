//! `POST /v1/instances/{id}/release`

use api::instance::InstanceView;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base::Error;
use futures_util::FutureExt;
use store::{instances, intents};

use super::stop::reason;
use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::state::App;
use crate::{resolve, views};

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
        resolve::instance(&mut db, &caller, &id).await?
    };
    let (now, id) = (app.now(), found.id.clone());
    let reason = reason(&caller, "released", None);
    app.store
        .write(move |tx| {
            let (id, reason) = (id.clone(), reason.clone());
            async move { intents::release(tx, &id, &reason, now).await }.boxed()
        })
        .await?;
    let mut db = app.store.read().await?;
    let after = instances::get(&mut db, &found.id).await?.ok_or_else(|| Error::not_found("the instance"))?;
    Ok((StatusCode::ACCEPTED, Json(views::instance(&app, &mut db, after).await?)))
}
