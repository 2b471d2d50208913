//! `DELETE /v1/keys/{id}`

use axum::extract::State;
use axum::http::StatusCode;
use base::{Error, KeyId};
use futures_util::FutureExt;
use serde_json::json;
use store::ssh_keys;

use crate::auth::InPerson;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::state::App;

/// Removes an SSH public key of the caller's.
#[utoipa::path(delete, path = "/v1/keys/{id}", operation_id = "delete_key", tag = "keys",
    params(("id" = String, Path, description = "id of the key")),
    responses((status = 204), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem)))]
pub async fn delete_key(
    State(app): State<App>,
    InPerson(caller): InPerson,
    Reference(id): Reference,
) -> ApiResult<StatusCode> {
    let missing = || Error::not_found("this key").hint("`suanli key ls` lists yours");
    let id: KeyId = id.parse().map_err(|_| missing())?;
    let (now, owner, note) = (app.now(), caller.user.id.clone(), caller.note("delete_key").to(&id));
    app.store
        .write(move |tx| {
            let (id, owner, note) = (id.clone(), owner.clone(), note.clone());
            async move {
                let fingerprint = ssh_keys::delete(tx, &owner, &id).await?.ok_or_else(missing)?;
                note.was(json!({ "fingerprint": fingerprint })).write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
