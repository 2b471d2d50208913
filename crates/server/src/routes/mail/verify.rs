//! `POST /v1/email/verify`

use api::sign_up::{EmailVerified, VerifyEmail};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use base::{Cause, Error, Timestamp};
use futures_util::FutureExt;
use serde_json::json;
use store::mail_links::{self, Purpose};
use store::profiles;
use store::users::{self, UserState};
use store::{Outcome, Tx};

use crate::auth::token_hash;
use crate::error::ApiError;
use crate::extract::Body;
use crate::joining::{self, Beginning};
use crate::limits::Origin;
use crate::observed::Limit;
use crate::sessions::{From, Where};
use crate::state::App;
use crate::trail::Note;

/// Proves an address by the link that was mailed to it.
#[utoipa::path(post, path = "/v1/email/verify", operation_id = "verify_email", tag = "session", security(()),
    request_body = VerifyEmail,
    responses((status = 200, body = EmailVerified), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn verify_email(
    State(app): State<App>,
    Where(from): Where,
    origin: Option<Extension<Origin>>,
    Body(request): Body<VerifyEmail>,
) -> Result<Json<EmailVerified>, Response> {
    let origin = origin.map_or(Origin(None), |Extension(origin)| origin);
    if let Err(refused) = app.guard.stranger(origin) {
        app.observed.limited(Limit::SignUp);
        return Err(refused.into_response());
    }
    let answer = |error: Error| ApiError(error).into_response();
    let settings = app.settings().await.map_err(answer)?;
    let plan = Plan {
        hash: token_hash(request.token.trim()),
        approval: settings.approval,
        currency: app.book().currency.clone(),
        from,
        now: app.now(),
    };
    let write = app.store.write(move |tx| {
        let plan = plan.clone();
        async move { prove(tx, plan).await }.boxed()
    });
    let state = write.await.map_err(answer)?;
    let state = if state == UserState::AwaitingApproval { "awaiting-approval" } else { "ready" };
    Ok(Json(EmailVerified { state: state.into() }))
}

#[derive(Clone)]
struct Plan {
    hash: String,
    approval: bool,
    currency: String,
    from: From,
    now: Timestamp,
}

async fn prove(tx: &mut Tx<'_>, plan: Plan) -> Outcome<UserState> {
    let Plan { hash, approval, currency, from, now } = plan;
    let missing = || {
        Error::new(Cause::NotFound, "this link is not good: it was used or is too old")
            .hint("sign in: then a new one is sent")
    };
    let (id, email) = mail_links::use_up(tx, &hash, Purpose::Verify, now).await?.ok_or_else(missing)?;
    let profile = profiles::get(tx, &id).await?.ok_or_else(missing)?;
    if !profiles::set_email(tx, &id, &email, now).await? {
        return Err(Error::new(Cause::AlreadyExists, "this address belongs to another user")
            .hint("sign in as that user, or have his password reset")
            .into());
    }
    let mut state = profile.state;
    if state == UserState::AwaitingEmail {
        state = if approval { UserState::AwaitingApproval } else { UserState::Active };
        users::set_state(tx, &id, UserState::AwaitingEmail, state).await?;
        let zone = joining::time_zone(profile.language.as_deref()).to_owned();
        let own = Beginning { name: profile.user.name.clone(), currency, time_zone: zone };
        joining::own_account(tx, &profile.user, &own, now).await?;
    }
    let what = json!({ "email": email, "state": state.as_str() });
    let note = Note::new(from.user(&profile.user), "verify_email").to(&id);
    note.was(json!({ "email": profile.email, "state": profile.state.as_str() })).became(what).write(tx, now).await?;
    Ok(state)
}
