//! `POST /v1/totp/remove`

use api::totp::TotpRemove;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base::{Cause, Error};
use futures_util::FutureExt;
use serde_json::json;
use store::{profiles, totp};

use crate::auth::{Caller, InPerson};
use crate::error::ApiResult;
use crate::extract::Body;
use crate::limits::Origin;
use crate::observed::Limit;
use crate::state::App;
use crate::{factor, password};

/// Takes the caller's second factor away: with his password and a code, so that who
/// has only his session cannot.
#[utoipa::path(post, path = "/v1/totp/remove", operation_id = "remove_totp", tag = "session",
    request_body = TotpRemove,
    responses((status = 204), (status = 403, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn remove_totp(
    State(app): State<App>,
    InPerson(caller): InPerson,
    origin: Option<Extension<Origin>>,
    Body(request): Body<TotpRemove>,
) -> Result<StatusCode, Response> {
    let origin = origin.map_or(Origin(None), |Extension(origin)| origin);
    let user = caller.user.id.clone();
    if let Err(refused) = app.guard.login(origin, user.as_str()).and_then(|()| app.guard.code(&user)) {
        app.observed.limited(Limit::Code);
        return Err(refused.into_response());
    }
    remove(&app, caller, request).await.map_err(IntoResponse::into_response)?;
    app.guard.logged_in(origin, user.as_str());
    app.guard.code_was_right(&user);
    Ok(StatusCode::NO_CONTENT)
}

async fn remove(app: &App, caller: Caller, request: TotpRemove) -> ApiResult<()> {
    let (stored, factor) = {
        let mut db = app.store.read().await?;
        (profiles::password_hash(&mut db, &caller.user.id).await?, totp::get(&mut db, &caller.user.id).await?)
    };
    if factor.is_none_or(|factor| factor.since.is_none()) {
        return Err(Error::new(Cause::WrongState, "you have no second factor").into());
    }
    // One answer for both, so that neither can be found out by itself.
    let wrong =
        || Error::new(Cause::Forbidden, "the password or the code is wrong").hint("a recovery code is good too, once");
    if !password::matches(app, request.password, stored).await? {
        return Err(wrong().into());
    }
    let (user, now, note) = (caller.user.id.clone(), app.now(), caller.note("remove_totp"));
    app.store
        .write(move |tx| {
            let (user, code, note) = (user.clone(), request.code.clone(), note.clone());
            async move {
                if !factor::spend(tx, &user, &code, now).await? {
                    return Err(wrong().into());
                }
                totp::remove(tx, &user).await?;
                note.to(&user).was(json!({ "totp": true })).became(json!({ "totp": false })).write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(())
}
