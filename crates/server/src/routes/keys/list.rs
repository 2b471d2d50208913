//! `GET /v1/keys`

use api::Page;
use api::token::KeyView;
use axum::Json;
use axum::extract::State;
use store::ssh_keys::{self, SshKey};

use crate::auth::InPerson;
use crate::error::ApiResult;
use crate::state::App;

/// The caller's SSH public keys, newest first.
#[utoipa::path(get, path = "/v1/keys", operation_id = "keys", tag = "keys",
    responses((status = 200, body = Page<KeyView>), (status = 403, body = api::problem::Problem)))]
pub async fn keys(State(app): State<App>, InPerson(caller): InPerson) -> ApiResult<Json<Page<KeyView>>> {
    let mut db = app.store.read().await?;
    let items = ssh_keys::of(&mut db, &caller.user.id).await?.into_iter().map(view).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

/// A key as its owner sees it.
pub(super) fn view(key: SshKey) -> KeyView {
    let kind = key.key.split(' ').next().unwrap_or_default().to_owned();
    KeyView { id: key.id, name: key.name, fingerprint: key.fingerprint, kind, created_at: key.created_at }
}
