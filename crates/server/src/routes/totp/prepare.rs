//! `POST /v1/totp`

use api::totp::TotpPrepared;
use axum::Json;
use axum::extract::State;
use base::{Cause, Error};
use futures_util::FutureExt;
use store::totp;

use crate::auth::InPerson;
use crate::error::ApiResult;
use crate::factor;
use crate::state::App;

/// Makes a secret for an authenticator app. It does not count before a code of it
/// was confirmed.
#[utoipa::path(post, path = "/v1/totp", operation_id = "prepare_totp", tag = "session",
    responses((status = 200, body = TotpPrepared), (status = 403, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn prepare_totp(State(app): State<App>, InPerson(caller): InPerson) -> ApiResult<Json<TotpPrepared>> {
    let secret = factor::new_secret();
    let uri = factor::uri(&secret, app.settings().await?.site_name(), &caller.user.name);
    let (user, now, note) = (caller.user.id.clone(), app.now(), caller.note("prepare_totp"));
    let kept = secret.clone();
    app.store
        .write(move |tx| {
            let (user, secret, note) = (user.clone(), kept.clone(), note.clone());
            async move {
                if !totp::prepare(tx, &user, &secret).await? {
                    return Err(Error::new(Cause::WrongState, "you have a second factor already")
                        .hint("remove it first, with your password and a code")
                        .into());
                }
                note.to(&user).write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(Json(TotpPrepared { secret, uri }))
}
