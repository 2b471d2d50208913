//! `POST /v1/signup`

use api::sign_up::{SignUpRequest, SignedUp};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use base::{Cause, Error, Result, Span, Timestamp, UserId};
use domain::name::check_name;
use futures_util::FutureExt;
use serde_json::json;
use store::invitations::{self, Invitation};
use store::profiles::{self, NewUser, Profile};
use store::settings::{Settings, SignUp};
use store::tokens::SessionKind;
use store::users::{User, UserState};
use store::{Outcome, Tx};

use crate::auth::token_hash;
use crate::error::{ApiError, ApiResult};
use crate::extract::Body;
use crate::joining::{self, Beginning, not_open};
use crate::letters::{self, Post};
use crate::limits::Origin;
use crate::observed::Limit;
use crate::sessions::{self, Begun, From, Where};
use crate::state::App;
use crate::trail::Note;
use crate::{password, views};

/// How long a name is kept for somebody who does not prove his address.
const UNPROVEN: Span = Span::from_hours(72);

/// Longest language tag.
const LONGEST_TAG: usize = 35;

/// Makes a user: by an invitation, or by an e-mail address where the site takes
/// whoever has one. The answer does not tell whether the address has a user already.
#[utoipa::path(post, path = "/v1/signup", operation_id = "sign_up", tag = "session", security(()),
    request_body = SignUpRequest,
    responses((status = 201, body = SignedUp), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn sign_up(
    State(app): State<App>,
    Where(from): Where,
    origin: Option<Extension<Origin>>,
    Body(request): Body<SignUpRequest>,
) -> std::result::Result<(StatusCode, HeaderMap, Json<SignedUp>), Response> {
    let origin = origin.map_or(Origin(None), |Extension(origin)| origin);
    if let Err(refused) = app.guard.stranger(origin) {
        app.observed.limited(Limit::SignUp);
        return Err(refused.into_response());
    }
    let joined = joined(&app, request, from).await.map_err(IntoResponse::into_response)?;
    let state = match joined.profile.state {
        UserState::AwaitingEmail => "check-email",
        UserState::AwaitingApproval => "awaiting-approval",
        UserState::Active | UserState::Disabled => "ready",
    };
    let (headers, csrf) = joined.begun.map(|begun| (begun.headers(), begun.csrf())).unzip();
    let ready = joined.profile.state == UserState::Active;
    let user = ready.then(|| views::user(&joined.profile, joined.email));
    let told = SignedUp { state: state.into(), csrf: csrf.flatten(), user };
    Ok((StatusCode::CREATED, headers.unwrap_or_default(), Json(told)))
}

struct Joined {
    profile: Profile,
    /// What he gave and has not proven.
    email: Option<String>,
    begun: Option<Begun>,
}

/// Everything that the transaction needs.
#[derive(Clone)]
struct Plan {
    new: NewUser,
    email: Option<String>,
    invitation: Option<Invitation>,
    own: Beginning,
    cookie: bool,
    from: From,
    post: Post,
    now: Timestamp,
}

async fn joined(app: &App, request: SignUpRequest, from: From) -> ApiResult<Joined> {
    let (now, settings) = (app.now(), app.settings().await?);
    let invitation = match request.invitation.as_deref().map(str::trim).filter(|secret| !secret.is_empty()) {
        Some(secret) => {
            let mut db = app.store.read().await?;
            let found = invitations::by_hash(&mut db, &token_hash(secret)).await?;
            Some(found.filter(|i| i.is_open(now)).ok_or_else(not_open)?)
        }
        None => None,
    };
    let email = request.email.as_deref().map(str::trim).filter(|email| !email.is_empty());
    let email = email.map(letters::address).transpose()?;
    let email = match (&invitation, email) {
        (Some(invitation), email) => invited(invitation, email)?,
        (None, email) => Some(by_email(app, &settings, email)?),
    };
    let name = check_name(&request.name)?;
    if name.contains('@') {
        // It could be taken for another's address when he signs in.
        return Err(Error::new(Cause::InvalidName, "a user name has no `@`").hint("leave out what follows it").into());
    }
    let own: Vec<&str> = [Some(name.as_str()), email.as_deref()].into_iter().flatten().collect();
    password::check(&request.password, &own)?;
    let language = request.language.filter(|tag| tag.len() <= LONGEST_TAG && tag.is_ascii());
    let time_zone = request.time_zone.unwrap_or_else(|| joining::time_zone(language.as_deref()).to_owned());
    now.in_zone(&time_zone)?;
    let plan = Plan {
        new: NewUser {
            id: UserId::new(now, rand::random()),
            name: name.clone(),
            password_hash: password::hash(app, request.password).await?,
            state: state(&settings, invitation.as_ref()),
            language,
        },
        email,
        invitation,
        own: Beginning { name, currency: app.book().currency.clone(), time_zone },
        cookie: request.cookie,
        from,
        post: Post::new(app, &settings, now),
        now,
    };
    let write = app.store.write(move |tx| {
        let plan = plan.clone();
        async move { make(tx, plan).await }.boxed()
    });
    write.await.map_err(ApiError)
}

/// In which state somebody begins.
fn state(settings: &Settings, invitation: Option<&Invitation>) -> UserState {
    match invitation {
        None => UserState::AwaitingEmail,
        // Renters may invite whom they like; whether the site takes him is the operator's to say.
        Some(invitation) if invitation.account.is_some() && settings.approval => UserState::AwaitingApproval,
        Some(_) => UserState::Active,
    }
}

/// The address of somebody who was invited.
fn invited(invitation: &Invitation, email: Option<String>) -> Result<Option<String>> {
    match (&invitation.email, email) {
        (Some(meant), Some(given)) if *meant != given => {
            Err(Error::new(Cause::InvalidRequest, "this invitation is for another e-mail address")
                .hint(format!("use {meant}, or ask for another invitation")))
        }
        (meant, given) => Ok(given.or_else(|| meant.clone())),
    }
}

/// The address of somebody who was not.
fn by_email(app: &App, settings: &Settings, email: Option<String>) -> Result<String> {
    let closed = |what: &str, hint: &str| Error::new(Cause::SignUpClosed, what).hint(hint);
    match settings.sign_up {
        SignUp::Closed => Err(closed("this site takes no new users", "ask its operator for an account")),
        SignUp::Invitation => Err(closed("this site takes new users by invitation", "open the link of an invitation")),
        SignUp::Email if !app.way.is_open(settings) => {
            Err(closed("this site cannot send mail now", "ask its operator for an invitation"))
        }
        SignUp::Email => email.ok_or_else(|| {
            Error::new(Cause::InvalidRequest, "an e-mail address is needed to sign up")
                .hint("it is used to reach you, and for a new password")
        }),
    }
}

async fn make(tx: &mut Tx<'_>, plan: Plan) -> Outcome<Joined> {
    let Plan { new, email, invitation, own, cookie, from, post, now } = plan;
    profiles::forget_unproven(tx, now.before(UNPROVEN)).await?;
    if !profiles::insert(tx, &new, now).await? {
        return Err(Error::new(Cause::AlreadyExists, "this name is taken").hint("choose another name").into());
    }
    let user = User { id: new.id.clone(), name: new.name.clone(), operator: None };
    let account = match &invitation {
        Some(invitation) => Some(joining::accept(tx, invitation, &user, &own, now).await?),
        // He gets it when his address is proven, so that nothing is left of who never does.
        None => None,
    };
    if let Some(email) = &email {
        match profiles::by_email(tx, email).await? {
            Some(owner) => post.have_account(tx, &owner, email).await?,
            None => post.verify(tx, &user, email, new.language.as_deref()).await?,
        }
    }
    let what = json!({ "name": user.name, "state": new.state.as_str(), "account": account,
        "invitation": invitation.as_ref().map(|i| &i.id) });
    let mut note = Note::new(from.stranger(Some(&user.name)), "sign_up").to(&user.id).became(what);
    if let Some(account) = &account {
        note = note.of(account);
    }
    note.write(tx, now).await?;
    let begun = match cookie && new.state == UserState::Active {
        true => Some(sessions::begin(tx, &user.id, SessionKind::Cookie, None, &from, now).await?),
        false => None,
    };
    let profile = profiles::get(tx, &user.id).await?.ok_or_else(|| Error::internal("the new user is not there"))?;
    Ok(Joined { profile, email, begun })
}
