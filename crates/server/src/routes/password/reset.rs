//! `POST /v1/password/reset`

use api::session::ResetPassword;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base::{Cause, Error};
use futures_util::FutureExt;
use serde_json::json;
use store::mail_links::{self, Purpose};
use store::{profiles, tokens, users};

use crate::auth::token_hash;
use crate::error::ApiResult;
use crate::extract::Body;
use crate::limits::Origin;
use crate::observed::Limit;
use crate::password;
use crate::sessions::{From, Where};
use crate::state::App;
use crate::trail::Note;

/// Sets a new password by the link that was mailed. The user is signed out everywhere.
#[utoipa::path(post, path = "/v1/password/reset", operation_id = "reset_password", tag = "session", security(()),
    request_body = ResetPassword,
    responses((status = 204), (status = 404, body = api::problem::Problem)))]
pub async fn reset_password(
    State(app): State<App>,
    Where(from): Where,
    origin: Option<Extension<Origin>>,
    Body(request): Body<ResetPassword>,
) -> Result<StatusCode, Response> {
    let origin = origin.map_or(Origin(None), |Extension(origin)| origin);
    if let Err(refused) = app.guard.stranger(origin) {
        app.observed.limited(Limit::SignUp);
        return Err(refused.into_response());
    }
    reset(&app, request, from).await.map_err(IntoResponse::into_response)
}

async fn reset(app: &App, request: ResetPassword, from: From) -> ApiResult<StatusCode> {
    let missing =
        || Error::new(Cause::NotFound, "this link is not good: it was used or is too old").hint("ask for another mail");
    let (link, now) = (token_hash(request.token.trim()), app.now());
    let profile = {
        let mut db = app.store.read().await?;
        let user = mail_links::find(&mut db, &link, Purpose::Reset, now).await?.ok_or_else(missing)?;
        profiles::get(&mut db, &user).await?.ok_or_else(missing)?
    };
    let own: Vec<&str> = [Some(profile.user.name.as_str()), profile.email.as_deref()].into_iter().flatten().collect();
    password::check(&request.password, &own)?;
    let hash = password::hash(app, request.password).await?;
    let note = Note::new(from.user(&profile.user), "reset_password").to(&profile.user.id);
    app.store
        .write(move |tx| {
            let (link, hash, note) = (link.clone(), hash.clone(), note.clone());
            async move {
                let (user, _) = mail_links::use_up(tx, &link, Purpose::Reset, now).await?.ok_or_else(missing)?;
                users::set_password(tx, &user, &hash).await?;
                let ended = tokens::end_all(tx, &user, None).await?;
                note.became(json!({ "sessions_ended": ended })).write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
