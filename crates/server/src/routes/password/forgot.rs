//! `POST /v1/password/forgot`

use api::session::{ForgotPassword, Noted};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use base::Result;
use futures_util::FutureExt;
use store::profiles;
use store::users::UserState;

use crate::extract::Body;
use crate::letters::{self, Post};
use crate::limits::Origin;
use crate::observed::Limit;
use crate::sessions::{From, Where};
use crate::state::App;
use crate::trail::Note;

/// Mails a link to set a new password, if the address is a user's. The answer is
/// always the same, and takes the same time.
#[utoipa::path(post, path = "/v1/password/forgot", operation_id = "forgot_password", tag = "session", security(()),
    request_body = ForgotPassword,
    responses((status = 202, body = Noted)))]
pub async fn forgot_password(
    State(app): State<App>,
    Where(from): Where,
    origin: Option<Extension<Origin>>,
    Body(request): Body<ForgotPassword>,
) -> std::result::Result<(StatusCode, Json<Noted>), Response> {
    let origin = origin.map_or(Origin(None), |Extension(origin)| origin);
    if let Err(refused) = app.guard.stranger(origin) {
        app.observed.limited(Limit::SignUp);
        return Err(refused.into_response());
    }
    if let Ok(email) = letters::address(&request.email) {
        tokio::spawn(async move {
            if let Err(error) = mail(&app, &email, from).await {
                tracing::error!(%error, "a mail for a forgotten password could not be written");
            }
        });
    }
    Ok((StatusCode::ACCEPTED, Json(Noted {})))
}

async fn mail(app: &App, email: &str, from: From) -> Result<()> {
    let (now, settings) = (app.now(), app.settings().await?);
    let found = {
        let mut db = app.store.read().await?;
        profiles::by_email(&mut db, email).await?
    };
    let Some(profile) = found.filter(|p| p.state != UserState::Disabled) else { return Ok(()) };
    let note = Note::new(from.stranger(None), "forgot_password").to(&profile.user.id);
    let (post, email) = (Post::new(app, &settings, now), email.to_owned());
    let write = app.store.write(move |tx| {
        let (post, profile, email, note) = (post.clone(), profile.clone(), email.clone(), note.clone());
        async move {
            post.reset(tx, &profile, &email).await?;
            note.write(tx, now).await
        }
        .boxed()
    });
    write.await
}
