//! `GET /v1/identity`

use api::identity::IdentityView;
use axum::Json;
use axum::extract::State;
use base::Error;
use store::profiles;

use crate::auth::InPerson;
use crate::error::ApiResult;
use crate::state::App;

/// Whether it is known who the caller is.
#[utoipa::path(get, path = "/v1/identity", operation_id = "identity", tag = "session",
    responses((status = 200, body = IdentityView), (status = 403, body = api::problem::Problem)))]
pub async fn identity(State(app): State<App>, InPerson(caller): InPerson) -> ApiResult<Json<IdentityView>> {
    let mut db = app.store.read().await?;
    let found = profiles::get(&mut db, &caller.user.id).await?.ok_or_else(|| Error::not_found("the user"))?;
    let state = found.identity.as_str().to_owned();
    Ok(Json(IdentityView { state, message: found.identity_note, url: None }))
}
