//! `GET` and `PUT /v1/site/settings`

use api::site::{SettingsRequest, SettingsView};
use axum::Json;
use axum::extract::State;
use futures_util::FutureExt;

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::Body;
use crate::settings;
use crate::state::App;

/// What the operator has set, without its secrets (operator).
#[utoipa::path(get, path = "/v1/site/settings", operation_id = "site_settings", tag = "site",
    responses((status = 200, body = SettingsView), (status = 403, body = api::problem::Problem)))]
pub async fn site_settings(State(app): State<App>, _: Operator<does::ManageSite>) -> ApiResult<Json<SettingsView>> {
    Ok(Json(settings::view(&app.settings().await?)))
}

/// Sets what the request names; the rest stays (operator).
#[utoipa::path(put, path = "/v1/site/settings", operation_id = "set_site_settings", tag = "site",
    request_body = SettingsRequest,
    responses((status = 200, body = SettingsView), (status = 403, body = api::problem::Problem)))]
pub async fn set_site_settings(
    State(app): State<App>,
    Operator(caller, _): Operator<does::ManageSite>,
    Body(request): Body<SettingsRequest>,
) -> ApiResult<Json<SettingsView>> {
    let (now, note, folder) = (app.now(), caller.note("set_site_settings"), app.way.folder.is_some());
    let set = app.store.write(move |tx| {
        let (request, note) = (request.clone(), note.clone());
        async move {
            let old = store::settings::get(tx).await?;
            let new = settings::changed(old.clone(), request, folder)?;
            store::settings::set(tx, &new).await?;
            // Views have no secrets in them.
            note.was(settings::view(&old)).became(settings::view(&new)).write(tx, now).await?;
            Ok(new)
        }
        .boxed()
    });
    Ok(Json(settings::view(&set.await?)))
}
