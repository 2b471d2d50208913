//! `POST /v1/login`

use api::session::{LoginRequest, LoginResponse};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use base::{Cause, Error, Timestamp};
use futures_util::FutureExt;
use store::profiles::{self, Profile};
use store::tokens::SessionKind;
use store::users::UserState;
use store::{Outcome, Tx, mail_links};

use crate::error::{ApiError, ApiResult};
use crate::extract::Body;
use crate::letters::Post;
use crate::limits::Origin;
use crate::observed::Limit;
use crate::sessions::{self, Begun, From, Where};
use crate::state::App;
use crate::trail::Note;
use crate::{factor, password, views};

/// Changes a password, and the code of a second factor where the user has one, for
/// a bearer token or a cookie.
#[utoipa::path(post, path = "/v1/login", operation_id = "login", tag = "session", security(()),
    request_body = LoginRequest,
    responses((status = 201, body = LoginResponse), (status = 401, body = api::problem::Problem), (status = 403, body = api::problem::Problem)))]
pub async fn login(
    State(app): State<App>,
    Where(from): Where,
    origin: Option<Extension<Origin>>,
    Body(request): Body<LoginRequest>,
) -> Result<(StatusCode, HeaderMap, Json<LoginResponse>), Response> {
    let origin = origin.map_or(Origin(None), |Extension(origin)| origin);
    if let Err(refused) = app.guard.login(origin, &request.user) {
        app.observed.limited(Limit::Login);
        return Err(refused.into_response());
    }
    let user = request.user.clone();
    let (begun, done) = session(&app, request, from).await?;
    app.guard.logged_in(origin, &user);
    Ok((StatusCode::CREATED, begun.headers(), Json(done)))
}

/// The session, where everything is right.
async fn session(app: &App, request: LoginRequest, from: From) -> Result<(Begun, LoginResponse), Response> {
    let answer = |error: Error| ApiError(error).into_response();
    let found = {
        let mut db = app.store.read().await.map_err(answer)?;
        profiles::find(&mut db, &request.user).await.map_err(|e| answer(e.into()))?
    };
    let (profile, stored) = found.unzip();
    let right = password::matches(app, request.password, stored).await.map_err(answer)?;
    let Some(profile) = profile.filter(|_| right) else {
        return Err(answer(refused(app, &request.user, &from, wrong()).await));
    };
    if let Some(error) = not_admitted(app, &profile).await.map_err(IntoResponse::into_response)? {
        return Err(answer(refused(app, &request.user, &from, error).await));
    }
    let code = match (profile.totp_since, request.code.filter(|code| !code.trim().is_empty())) {
        (None, _) => None,
        (Some(_), Some(code)) => Some(code),
        (Some(_), None) => {
            let error = Error::new(Cause::SecondFactorNeeded, "this user has a second factor: its code is needed too");
            return Err(answer(error.hint("send the code of your authenticator app, or a recovery code")));
        }
    };
    if code.as_deref().is_some_and(|code| factor::is_code(&factor::normal(code)))
        && let Err(refused) = app.guard.code(&profile.user.id)
    {
        app.observed.limited(Limit::Code);
        return Err(refused.into_response());
    }
    let kind = if request.cookie { SessionKind::Cookie } else { SessionKind::Login };
    let begun = begin(app, &profile, code, kind, request.name, &from).await.map_err(answer)?;
    let Some((begun, pending)) = begun else {
        let error = Error::new(Cause::SecondFactorWrong, "the code is wrong, or was used before");
        let error = error.hint("wait for the next code, or use a recovery code; check that the clocks are right");
        return Err(answer(refused(app, &request.user, &from, error).await));
    };
    app.guard.code_was_right(&profile.user.id);
    let (token, csrf, expires_at) = (begun.token(), begun.csrf(), begun.expires_at);
    Ok((begun, LoginResponse { token, csrf, expires_at, user: views::user(&profile, pending) }))
}

/// Begins the session and uses the code up, both or neither. `None`: the code is wrong.
async fn begin(
    app: &App,
    profile: &Profile,
    code: Option<String>,
    kind: SessionKind,
    name: Option<String>,
    from: &From,
) -> base::Result<Option<(Begun, Option<String>)>> {
    let (user, now, from) = (profile.user.clone(), app.now(), from.clone());
    let note = Note::new(from.user(&user), "login");
    let write = app.store.write(move |tx| {
        let (user, code, name, from, note) = (user.clone(), code.clone(), name.clone(), from.clone(), note.clone());
        async move {
            if let Some(code) = &code
                && !factor::spend(tx, &user.id, code, now).await?
            {
                return Ok(None);
            }
            note.write(tx, now).await?;
            let begun = sessions::begin(tx, &user.id, kind, name, &from, now).await?;
            Ok(Some((begun, mail_links::pending(tx, &user.id).await?)))
        }
        .boxed()
    });
    write.await
}

/// One answer for a wrong name and a wrong password: strangers learn nothing.
fn wrong() -> Error {
    Error::new(Cause::Unauthenticated, "the user name or the password is wrong")
        .hint("an operator can make a new one-time password")
}

/// Why a user may not come in although his password is right.
async fn not_admitted(app: &App, profile: &Profile) -> ApiResult<Option<Error>> {
    Ok(match profile.state {
        UserState::Active => None,
        UserState::AwaitingEmail => {
            again(app, profile).await?;
            let error = Error::new(Cause::AwaitingEmail, "your e-mail address is not confirmed yet");
            Some(error.hint("open the link in the mail that was sent to you; it is sent once more now"))
        }
        UserState::AwaitingApproval => {
            let error = Error::new(Cause::AwaitingApproval, "an operator has not approved you yet");
            Some(error.hint("wait, or ask the operator of this site"))
        }
        UserState::Disabled => {
            let error = Error::new(Cause::UserDisabled, "an operator has shut this user out");
            Some(error.hint("ask the operator of this site"))
        }
    })
}

/// Sends the link once more that proves the user's address.
async fn again(app: &App, profile: &Profile) -> ApiResult<()> {
    let (settings, now) = (app.settings().await?, app.now());
    let (post, profile) = (Post::new(app, &settings, now), profile.clone());
    let write = app.store.write(move |tx| {
        let (post, profile) = (post.clone(), profile.clone());
        async move { link_again(tx, &post, &profile).await }.boxed()
    });
    Ok(write.await?)
}

async fn link_again(tx: &mut Tx<'_>, post: &Post, profile: &Profile) -> Outcome<()> {
    match mail_links::pending(tx, &profile.user.id).await? {
        Some(email) => post.verify(tx, &profile.user, &email, profile.language.as_deref()).await,
        None => Ok(()),
    }
}

/// Writes the failed attempt down and gives the answer back.
async fn refused(app: &App, user: &str, from: &From, error: Error) -> Error {
    let note = Note::new(from.stranger(Some(user)), "login").refused(error.cause());
    let now: Timestamp = app.now();
    let written = app.store.write(move |tx| {
        let note = note.clone();
        async move { note.write(tx, now).await }.boxed()
    });
    if let Err(error) = written.await {
        tracing::warn!(%error, "a failed sign-in could not be written to the audit log");
    }
    error
}
