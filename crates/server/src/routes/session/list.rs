//! `GET /v1/sessions`

use api::session::{SessionView, Sessions};
use axum::Json;
use axum::extract::State;
use store::tokens;

use crate::auth::InPerson;
use crate::error::ApiResult;
use crate::state::App;

/// Where the caller is signed in.
#[utoipa::path(get, path = "/v1/sessions", operation_id = "sessions", tag = "session",
    responses((status = 200, body = Sessions), (status = 403, body = api::problem::Problem)))]
pub async fn sessions(State(app): State<App>, InPerson(caller): InPerson) -> ApiResult<Json<Sessions>> {
    let now = app.now();
    let mut db = app.store.read().await?;
    let found = tokens::sessions(&mut db, &caller.user.id).await?;
    let view = |s: tokens::Session| SessionView {
        current: s.id == caller.token.id,
        id: s.id,
        name: s.name,
        kind: s.kind.as_str().to_owned(),
        created_at: s.created_at,
        expires_at: s.expires_at,
        last_used_at: s.used_at,
        address: s.address,
        agent: s.agent,
    };
    let items = found.into_iter().filter(|s| s.expires_at > now).map(view).collect();
    Ok(Json(Sessions { items }))
}
