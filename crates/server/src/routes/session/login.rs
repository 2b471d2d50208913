//! `POST /v1/login`

use api::session::{LoginRequest, LoginResponse, UserView};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use base::{Cause, Error, Span, TokenId};
use futures_util::FutureExt;
use store::users;

use crate::auth::{new_token, token_hash};
use crate::error::ApiResult;
use crate::extract::Body;
use crate::limits::Origin;
use crate::observed::Limit;
use crate::password;
use crate::state::App;

/// How long a token lasts.
const LASTS: Span = Span::from_hours(24 * 30);

/// Changes a password for a bearer token.
#[utoipa::path(post, path = "/v1/login", operation_id = "login", tag = "session", security(()),
    request_body = LoginRequest,
    responses((status = 201, body = LoginResponse), (status = 401, body = api::problem::Problem)))]
pub async fn login(
    State(app): State<App>,
    origin: Option<Extension<Origin>>,
    Body(request): Body<LoginRequest>,
) -> Result<(StatusCode, Json<LoginResponse>), Response> {
    let origin = origin.map_or(Origin(None), |Extension(origin)| origin);
    if let Err(refused) = app.guard.login(origin, &request.user) {
        app.observed.limited(Limit::Login);
        return Err(refused.into_response());
    }
    let user = request.user.clone();
    let done = token(&app, request).await.map_err(IntoResponse::into_response)?;
    app.guard.logged_in(origin, &user);
    Ok((StatusCode::CREATED, Json(done)))
}

/// The token, where name and password are right.
async fn token(app: &App, request: LoginRequest) -> ApiResult<LoginResponse> {
    let found = {
        let mut db = app.store.read().await?;
        users::by_name(&mut db, &request.user).await?
    };
    let (user, stored) = found.unzip();
    // One answer for a wrong name and a wrong password: strangers learn nothing.
    let refused = || {
        Error::new(Cause::Unauthenticated, "the user name or the password is wrong")
            .hint("an operator can make a new one-time password")
    };
    if !password::matches(app, request.password, stored).await? {
        return Err(refused().into());
    }
    let user = user.ok_or_else(refused)?;
    let (secret, now) = (new_token(), app.now());
    let (hash, expires_at) = (token_hash(&secret), now.after(LASTS));
    let name = request.name.unwrap_or_else(|| "login".into());
    let owner = user.id.clone();
    app.store
        .write(move |tx| {
            let (hash, name, owner) = (hash.clone(), name.clone(), owner.clone());
            async move {
                let id = TokenId::new(now, tx.random());
                users::insert_token(tx, &id, &owner, &hash, &name, now, expires_at).await
            }
            .boxed()
        })
        .await?;
    let user = UserView { id: user.id, name: user.name, operator: user.operator };
    Ok(LoginResponse { token: secret, expires_at, user })
}
