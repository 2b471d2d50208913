//! `POST /v1/password`

use api::session::ChangePassword;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base::{Cause, Error};
use futures_util::FutureExt;
use serde_json::json;
use store::mail_links::{self, Purpose};
use store::{profiles, tokens, users};

use crate::auth::{Caller, InPerson};
use crate::error::ApiResult;
use crate::extract::Body;
use crate::limits::Origin;
use crate::observed::Limit;
use crate::password;
use crate::state::App;

/// Sets another password. The caller stays signed in here and nowhere else.
#[utoipa::path(post, path = "/v1/password", operation_id = "change_password", tag = "session",
    request_body = ChangePassword,
    responses((status = 204), (status = 403, body = api::problem::Problem)))]
pub async fn change_password(
    State(app): State<App>,
    InPerson(caller): InPerson,
    origin: Option<Extension<Origin>>,
    Body(request): Body<ChangePassword>,
) -> Result<StatusCode, Response> {
    let origin = origin.map_or(Origin(None), |Extension(origin)| origin);
    // Whoever has somebody's session must not find his password out.
    if let Err(refused) = app.guard.login(origin, caller.user.id.as_str()) {
        app.observed.limited(Limit::Login);
        return Err(refused.into_response());
    }
    let name = caller.user.id.to_string();
    change(&app, caller, request).await.map_err(IntoResponse::into_response)?;
    app.guard.logged_in(origin, &name);
    Ok(StatusCode::NO_CONTENT)
}

async fn change(app: &App, caller: Caller, request: ChangePassword) -> ApiResult<()> {
    let (profile, stored) = {
        let mut db = app.store.read().await?;
        let profile = profiles::get(&mut db, &caller.user.id).await?.ok_or_else(|| Error::not_found("the user"))?;
        (profile, profiles::password_hash(&mut db, &caller.user.id).await?)
    };
    let own: Vec<&str> = [Some(profile.user.name.as_str()), profile.email.as_deref()].into_iter().flatten().collect();
    password::check(&request.new, &own)?;
    if !password::matches(app, request.old, stored).await? {
        return Err(Error::new(Cause::Forbidden, "the old password is wrong")
            .hint("if it is forgotten, have it reset by mail or by an operator")
            .into());
    }
    let hash = password::hash(app, request.new).await?;
    let (user, here, now) = (caller.user.id.clone(), caller.token.id.clone(), app.now());
    let note = caller.note("change_password").to(&user);
    app.store
        .write(move |tx| {
            let (user, here, hash, note) = (user.clone(), here.clone(), hash.clone(), note.clone());
            async move {
                users::set_password(tx, &user, &hash).await?;
                mail_links::drop_all(tx, &user, Purpose::Reset).await?;
                let ended = tokens::end_all(tx, &user, Some(&here)).await?;
                note.became(json!({ "sessions_ended": ended })).write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(())
}
