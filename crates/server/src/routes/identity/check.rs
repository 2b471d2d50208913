//! `POST /v1/identity`

use api::identity::{IdentityRequest, IdentityView};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use base::{Cause, Error};
use futures_util::FutureExt;
use serde_json::json;
use store::profiles::{self, Identity};

use crate::auth::{Caller, InPerson};
use crate::error::ApiResult;
use crate::extract::Body;
use crate::identity;
use crate::limits::Origin;
use crate::observed::Limit;
use crate::state::App;

/// Has the operator's service find out who the caller is. What is sent is handed on
/// and not kept; ask again while the answer is `pending`.
#[utoipa::path(post, path = "/v1/identity", operation_id = "check_identity", tag = "session",
    request_body = IdentityRequest,
    responses((status = 200, body = IdentityView), (status = 403, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn check_identity(
    State(app): State<App>,
    InPerson(caller): InPerson,
    origin: Option<Extension<Origin>>,
    Body(request): Body<IdentityRequest>,
) -> Result<Json<IdentityView>, Response> {
    let origin = origin.map_or(Origin(None), |Extension(origin)| origin);
    // Each may cost the operator money. Counted by user too: he chose this one himself.
    if let Err(refused) = app.guard.stranger(origin).and_then(|()| app.guard.identity(&caller.user.id)) {
        app.observed.limited(Limit::SignUp);
        return Err(refused.into_response());
    }
    check(&app, caller, request).await.map_err(IntoResponse::into_response)
}

async fn check(app: &App, caller: Caller, request: IdentityRequest) -> ApiResult<Json<IdentityView>> {
    let settings = app.settings().await?;
    let profile = {
        let mut db = app.store.read().await?;
        profiles::get(&mut db, &caller.user.id).await?.ok_or_else(|| Error::not_found("the user"))?
    };
    if profile.identity == Identity::Verified {
        return Err(Error::new(Cause::WrongState, "your identity is verified already").into());
    }
    let verdict = identity::check(app, &settings, &profile, request.0).await?;
    let (user, now, found) = (profile.user.id.clone(), app.now(), verdict.clone());
    let note = caller.note("check_identity").to(&user).was(json!({ "identity": profile.identity.as_str() }));
    app.store
        .write(move |tx| {
            let (user, found, note) = (user.clone(), found.clone(), note.clone());
            async move {
                profiles::set_identity(tx, &user, found.state, found.note.as_deref(), now).await?;
                note.became(json!({ "identity": found.state.as_str() })).write(tx, now).await
            }
            .boxed()
        })
        .await?;
    let state = verdict.state.as_str().to_owned();
    Ok(Json(IdentityView { state, message: verdict.note, url: verdict.url }))
}
