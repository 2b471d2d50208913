//! `POST /v1/email/resend`

use axum::extract::State;
use axum::http::StatusCode;
use base::{Cause, Error};
use futures_util::FutureExt;
use store::{mail_links, profiles};

use crate::auth::InPerson;
use crate::error::ApiResult;
use crate::letters::Post;
use crate::state::App;

/// Sends the link once more that proves the caller's address.
#[utoipa::path(post, path = "/v1/email/resend", operation_id = "resend_email", tag = "session",
    responses((status = 204), (status = 403, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn resend_email(State(app): State<App>, InPerson(caller): InPerson) -> ApiResult<StatusCode> {
    let (now, settings) = (app.now(), app.settings().await?);
    if !app.way.is_open(&settings) {
        return Err(Error::new(Cause::WrongState, "this site sends no mail").hint("ask its operator").into());
    }
    let (user, post, note) = (caller.user.clone(), Post::new(&app, &settings, now), caller.note("resend_email"));
    app.store
        .write(move |tx| {
            let (user, post, note) = (user.clone(), post.clone(), note.clone());
            async move {
                let Some(email) = mail_links::pending(tx, &user.id).await? else {
                    return Err(Error::new(Cause::WrongState, "you have no address that is not confirmed").into());
                };
                let language = profiles::get(tx, &user.id).await?.and_then(|p| p.language);
                post.verify(tx, &user, &email, language.as_deref()).await?;
                note.to(&user.id).write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
