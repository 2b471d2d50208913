//! `POST /v1/totp/confirm`

use api::totp::{RecoveryCodes, TotpConfirm};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base::{Cause, Error};
use futures_util::FutureExt;
use serde_json::json;
use store::totp;

use crate::auth::{Caller, InPerson};
use crate::error::ApiResult;
use crate::extract::Body;
use crate::factor;
use crate::observed::Limit;
use crate::state::App;

/// Makes the second factor count, and shows once the codes to recover with.
#[utoipa::path(post, path = "/v1/totp/confirm", operation_id = "confirm_totp", tag = "session",
    request_body = TotpConfirm,
    responses((status = 200, body = RecoveryCodes), (status = 403, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn confirm_totp(
    State(app): State<App>,
    InPerson(caller): InPerson,
    Body(request): Body<TotpConfirm>,
) -> Result<Json<RecoveryCodes>, Response> {
    if let Err(refused) = app.guard.code(&caller.user.id) {
        app.observed.limited(Limit::Code);
        return Err(refused.into_response());
    }
    let user = caller.user.id.clone();
    let codes = confirm(&app, caller, &request.code).await.map_err(IntoResponse::into_response)?;
    app.guard.code_was_right(&user);
    Ok(codes)
}

async fn confirm(app: &App, caller: Caller, code: &str) -> ApiResult<Json<RecoveryCodes>> {
    let now = app.now();
    let prepared = {
        let mut db = app.store.read().await?;
        totp::get(&mut db, &caller.user.id).await?
    };
    let none = || {
        Error::new(Cause::WrongState, "no second factor waits to be confirmed").hint("begin again with a new secret")
    };
    let secret = prepared.filter(|factor| factor.since.is_none()).ok_or_else(none)?.secret;
    // Not as when signing in: who sends this is signed in, and stays so.
    let wrong = || Error::new(Cause::Forbidden, "the code is wrong").hint("check that the app's clock is right");
    let step = factor::step(&secret, &factor::normal(code), now).ok_or_else(wrong)?;
    let (codes, hashes) = factor::recovery_codes();
    let (user, note) = (caller.user.id.clone(), caller.note("confirm_totp"));
    app.store
        .write(move |tx| {
            let (user, secret, hashes, note) = (user.clone(), secret.clone(), hashes.clone(), note.clone());
            async move {
                if !totp::confirm(tx, &user, &secret, step, &hashes, now).await? {
                    return Err(none().into());
                }
                note.to(&user).was(json!({ "totp": false })).became(json!({ "totp": true })).write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(Json(RecoveryCodes { recovery_codes: codes }))
}
