//! `POST /v1/keys`

use api::token::{AddKey, KeyView};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base::{Cause, Error, KeyId};
use domain::name::check_name;
use futures_util::FutureExt;
use serde_json::json;
use store::ssh_keys::{self, SshKey};

use super::list::view;
use super::read::read;
use crate::auth::InPerson;
use crate::error::ApiResult;
use crate::extract::Body;
use crate::state::App;

/// How many a user may have.
const MOST: i64 = 100;

/// Adds an SSH public key of the caller's: Ed25519, ECDSA, a security key's, or RSA
/// of 2048 bits or more.
#[utoipa::path(post, path = "/v1/keys", operation_id = "add_key", tag = "keys", request_body = AddKey,
    responses((status = 201, body = KeyView), (status = 403, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn add_key(
    State(app): State<App>,
    InPerson(caller): InPerson,
    Body(request): Body<AddKey>,
) -> ApiResult<(StatusCode, Json<KeyView>)> {
    let read = read(&request.key)?;
    let name = match &request.name {
        Some(name) => check_name(name)?,
        // A remark that is no name is as good as none.
        None => check_name(&read.remark).unwrap_or_else(|_| "key".to_owned()),
    };
    let (now, owner, note) = (app.now(), caller.user.id.clone(), caller.note("add_key"));
    let made = app
        .store
        .write(move |tx| {
            let (owner, note, name, read) = (owner.clone(), note.clone(), name.clone(), read.clone());
            async move {
                let id = KeyId::new(now, tx.random());
                let key = SshKey { id, name, fingerprint: read.fingerprint, key: read.line, created_at: now };
                match ssh_keys::insert(tx, &owner, &key, MOST).await? {
                    Some(true) => {}
                    Some(false) => {
                        let what = format!("you have the key {} already", key.fingerprint);
                        return Err(Error::new(Cause::AlreadyExists, what).hint("`suanli key ls` shows it").into());
                    }
                    None => {
                        return Err(Error::new(Cause::WrongState, format!("you have {MOST} keys already"))
                            .hint("remove one that is not needed: `suanli key ls`")
                            .into());
                    }
                }
                let what = json!({ "name": key.name, "fingerprint": key.fingerprint });
                note.to(&key.id).became(what).write(tx, now).await?;
                Ok(key)
            }
            .boxed()
        })
        .await?;
    Ok((StatusCode::CREATED, Json(view(made))))
}
