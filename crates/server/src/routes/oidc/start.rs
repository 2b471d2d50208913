//! `GET /v1/oidc/{provider}/start`

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base::{Cause, Error, Span};
use futures_util::FutureExt;
use serde::Deserialize;
use store::identities;
use utoipa::IntoParams;

use super::{Flow, back, cookie, provider, sent_to};
use crate::auth::{Maybe, token_hash};
use crate::error::{ApiError, ApiResult};
use crate::extract::{Params, Reference};
use crate::limits::Origin;
use crate::observed::Limit;
use crate::oidc;
use crate::sessions::Where;
use crate::state::App;

/// How long somebody may take to sign in there.
const PATIENCE: Span = Span::from_secs(600);

/// What a page says when it sends somebody away.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct StartQuery {
    /// Where he goes on afterwards: a path of this site.
    next: Option<String>,
    /// What is behind `#` in the link of an invitation, where he signs up.
    invitation: Option<String>,
}

/// Sends the browser to a provider to sign in there. Who is signed in here already
/// is known by both names afterwards.
#[utoipa::path(get, path = "/v1/oidc/{provider}/start", operation_id = "oidc_start", tag = "session", security(()),
    params(("provider" = String, Path, description = "id of the provider"), StartQuery),
    responses((status = 302), (status = 404, body = api::problem::Problem)))]
pub async fn oidc_start(
    State(app): State<App>,
    Maybe(caller): Maybe,
    Where(from): Where,
    origin: Option<Extension<Origin>>,
    Reference(id): Reference,
    Params(query): Params<StartQuery>,
) -> Response {
    let origin = origin.map_or(Origin(None), |Extension(origin)| origin);
    if let Err(refused) = app.guard.stranger(origin) {
        app.observed.limited(Limit::SignUp);
        return refused.into_response();
    }
    // An API token is nobody who could be known by another name.
    let user = caller.filter(|c| c.in_person().is_ok()).map(|c| c.user.id);
    match start(&app, &id, query, user, from.secure).await {
        Ok(answer) => answer,
        Err(ApiError(error)) if error.cause() == Cause::NotFound => ApiError(error).into_response(),
        // A person looks at this: he is shown it where he came from.
        Err(ApiError(error)) => {
            tracing::warn!(%error, provider = id, "nobody can sign in there");
            sent_to(&format!("/sign-in?error={}", error.cause().code()), None)
        }
    }
}

async fn start(
    app: &App,
    id: &str,
    query: StartQuery,
    user: Option<base::UserId>,
    secure: bool,
) -> ApiResult<Response> {
    let (now, settings) = (app.now(), app.settings().await?);
    let provider = provider(&settings, id)?;
    let begun = oidc::begin(app, &provider, &back(app, &settings, &provider)).await?;
    let next = oidc::next(query.next.as_deref());
    let flow = Flow { proof: begun.proof, next, user, invitation: query.invitation };
    let data = serde_json::to_string(&flow).map_err(Error::internal)?;
    let (hash, ends) = (token_hash(&begun.state), now.after(PATIENCE));
    app.store
        .write(move |tx| {
            let (id, hash, data) = (provider.id.clone(), hash.clone(), data.clone());
            async move { identities::begin(tx, &id, &hash, &data, now, ends).await }.boxed()
        })
        .await?;
    Ok(sent_to(&begun.url, cookie(&begun.state, PATIENCE.secs(), secure)))
}
