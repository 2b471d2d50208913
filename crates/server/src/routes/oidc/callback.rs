//! `GET /v1/oidc/{provider}/callback`

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::COOKIE as COOKIES;
use axum::response::{IntoResponse, Response};
use base::{Cause, Error, Result, Timestamp, UserId};
use domain::name::{MAX_NAME, check_name};
use futures_util::FutureExt;
use serde::Deserialize;
use serde_json::json;
use store::invitations::{self, Invitation};
use store::profiles::{self, NewUser, Profile};
use store::settings::{Provider, Settings, SignUp};
use store::tokens::SessionKind;
use store::users::{User, UserState};
use store::{Outcome, Tx, identities};
use utoipa::IntoParams;

use super::{COOKIE, Flow, back, cookie, provider, sent_to};
use crate::auth::{Maybe, token_hash};
use crate::error::{ApiError, ApiResult};
use crate::extract::{Params, Reference};
use crate::joining::{self, Beginning, not_open};
use crate::oidc::{self, Who};
use crate::password;
use crate::sessions::{self, Begun, From, Where};
use crate::state::App;
use crate::trail::Note;

/// Names that are tried for somebody new before a random one.
const TRIES: u32 = 20;

/// What a provider sends along.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CallbackQuery {
    /// What proves the sign-in there.
    #[serde(default)]
    code: String,
    /// What ties it to the beginning here.
    #[serde(default)]
    state: String,
    /// Why there is no sign-in.
    error: Option<String>,
}

/// Where a provider sends the browser back: signs in, and goes on; or to the page
/// for signing in, with the code of what is wrong.
#[utoipa::path(get, path = "/v1/oidc/{provider}/callback", operation_id = "oidc_callback", tag = "session", security(()),
    params(("provider" = String, Path, description = "id of the provider"), CallbackQuery),
    responses((status = 302), (status = 404, body = api::problem::Problem)))]
pub async fn oidc_callback(
    State(app): State<App>,
    Maybe(caller): Maybe,
    Where(from): Where,
    headers: HeaderMap,
    Reference(id): Reference,
    Params(query): Params<CallbackQuery>,
) -> Response {
    let settings = match app.settings().await {
        Ok(settings) => settings,
        Err(error) => return ApiError(error).into_response(),
    };
    let provider = match provider(&settings, &id) {
        Ok(provider) => provider,
        Err(error) => return ApiError(error).into_response(),
    };
    let gone = cookie("", 0, from.secure);
    let here = caller.filter(|c| c.in_person().is_ok()).map(|c| c.user.id);
    match arrive(&app, &settings, &provider, &headers, query, here, from).await {
        Ok((next, begun)) => {
            let session = begun.headers();
            let session = session.into_iter().filter_map(|(name, value)| Some((name?, value)));
            sent_to(&next, session.chain(gone))
        }
        Err(ApiError(error)) => {
            tracing::info!(%error, provider = provider.id, "nobody was signed in");
            sent_to(&format!("/sign-in?error={}", error.cause().code()), gone)
        }
    }
}

async fn arrive(
    app: &App,
    settings: &Settings,
    provider: &Provider,
    headers: &HeaderMap,
    query: CallbackQuery,
    here: Option<UserId>,
    from: From,
) -> ApiResult<(String, Begun)> {
    let foreign = || Error::new(Cause::CsrfMissing, "this sign-in did not begin in this browser, or long ago");
    if query.state.is_empty() || own_state(headers) != Some(query.state.as_str()) {
        return Err(foreign().into());
    }
    let (now, id, state) = (app.now(), provider.id.clone(), token_hash(&query.state));
    let taken = app.store.write(move |tx| {
        let (id, state) = (id.clone(), state.clone());
        async move { identities::take(tx, &id, &state, now).await }.boxed()
    });
    let flow: Flow = serde_json::from_str(&taken.await?.ok_or_else(foreign)?).map_err(Error::internal)?;
    if query.error.is_some() || query.code.is_empty() {
        let error = Error::new(Cause::Unauthenticated, format!("{} has signed nobody in", provider.label));
        return Err(error.context(query.error.unwrap_or_default()).into());
    }
    let who = oidc::finish(app, provider, &back(app, settings, provider), query.code, flow.proof).await?;
    let invitation = match &flow.invitation {
        Some(secret) => {
            let mut db = app.store.read().await?;
            let found = invitations::by_hash(&mut db, &token_hash(secret.trim())).await?;
            Some(found.filter(|i| i.is_open(now)).ok_or_else(not_open)?)
        }
        None => None,
    };
    let plan = Plan {
        provider: provider.id.clone(),
        who,
        // Who was signed in when he went away and still is.
        signed_in: flow.user.filter(|user| here.as_ref() == Some(user)),
        invitation,
        sign_up: settings.sign_up,
        approval: settings.approval,
        currency: app.book().currency.clone(),
        from,
        now,
    };
    let write = app.store.write(move |tx| {
        let plan = plan.clone();
        async move { sign_in(tx, plan).await }.boxed()
    });
    Ok((flow.next, write.await?.into_result()?))
}

fn own_state(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(COOKIES).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, state)| state)
}

#[derive(Clone)]
struct Plan {
    provider: String,
    who: Who,
    signed_in: Option<UserId>,
    invitation: Option<Invitation>,
    sign_up: SignUp,
    approval: bool,
    currency: String,
    from: From,
    now: Timestamp,
}

/// What becomes of somebody; also a refusal may leave something behind: a user who
/// waits for approval.
enum Arrived {
    In(Begun),
    Waits(Error),
}

impl Arrived {
    fn into_result(self) -> Result<Begun> {
        match self {
            Self::In(begun) => Ok(begun),
            Self::Waits(error) => Err(error),
        }
    }
}

async fn sign_in(tx: &mut Tx<'_>, plan: Plan) -> Outcome<Arrived> {
    let Plan { provider, who, signed_in, now, .. } = &plan;
    let known = identities::find(tx, provider, &who.subject).await?;
    let profile = match (known, signed_in) {
        (Some(user), _) => user,
        (None, Some(user)) => {
            link(tx, &plan, user).await?;
            user.clone()
        }
        (None, None) => newcomer(tx, &plan).await?,
    };
    let profile = profiles::get(tx, &profile).await?.ok_or_else(|| Error::internal("the user is not there"))?;
    if let Some(error) = not_admitted(&profile) {
        return Ok(Arrived::Waits(error));
    }
    let note = Note::new(plan.from.user(&profile.user), "login");
    note.to(&profile.user.id).became(json!({ "provider": provider })).write(tx, *now).await?;
    let begun = sessions::begin(tx, &profile.user.id, SessionKind::Cookie, None, &plan.from, *now).await?;
    Ok(Arrived::In(begun))
}

fn not_admitted(profile: &Profile) -> Option<Error> {
    let (cause, what) = match profile.state {
        UserState::Active => return None,
        UserState::AwaitingEmail => (Cause::AwaitingEmail, "the address is not confirmed yet"),
        UserState::AwaitingApproval => (Cause::AwaitingApproval, "an operator has not approved this user yet"),
        UserState::Disabled => (Cause::UserDisabled, "an operator has shut this user out"),
    };
    Some(Error::new(cause, what))
}

async fn link(tx: &mut Tx<'_>, plan: &Plan, user: &UserId) -> Outcome<()> {
    if !identities::link(tx, &plan.provider, &plan.who.subject, user, plan.now).await? {
        return Err(Error::new(Cause::AlreadyExists, "this sign-in belongs to another user").into());
    }
    let linked = profiles::get(tx, user).await?.ok_or_else(|| Error::internal("the user is not there"))?;
    let actor = plan.from.user(&linked.user);
    let what = json!({ "provider": plan.provider, "subject": plan.who.subject });
    Note::new(actor, "link_identity").to(user).became(what).write(tx, plan.now).await
}

/// Somebody whom nobody here knows: by the site's rule for signing up.
async fn newcomer(tx: &mut Tx<'_>, plan: &Plan) -> Outcome<UserId> {
    let Plan { who, invitation, now, .. } = plan;
    if let Some(email) = &who.email
        && profiles::by_email(tx, email).await?.is_some()
    {
        // Whoever controls the provider must not become anybody whom he likes.
        let what = "a user with this address exists: sign in as him first, then connect the two";
        return Err(Error::new(Cause::AlreadyExists, what).into());
    }
    let closed = |what| Error::new(Cause::SignUpClosed, what);
    match (invitation, plan.sign_up) {
        (Some(i), _) if i.email.is_some() && i.email != who.email => {
            return Err(closed("this invitation is for another address").into());
        }
        (Some(_), _) | (None, SignUp::Email) => {}
        (None, SignUp::Closed) => return Err(closed("this site takes no new users").into()),
        (None, SignUp::Invitation) => return Err(closed("this site takes new users by invitation").into()),
    }
    let by_operator = invitation.as_ref().is_some_and(|i| i.account.is_none());
    let state = if plan.approval && !by_operator { UserState::AwaitingApproval } else { UserState::Active };
    let user = insert(tx, plan, state).await?;
    if let Some(email) = &who.email {
        profiles::set_email(tx, &user.id, email, *now).await?;
    }
    link(tx, plan, &user.id).await?;
    let own = Beginning { name: user.name.clone(), currency: plan.currency.clone(), time_zone: "UTC".into() };
    let account = match invitation {
        Some(invitation) => joining::accept(tx, invitation, &user, &own, *now).await?,
        None => joining::own_account(tx, &user, &own, *now).await?,
    };
    let what = json!({ "name": user.name, "state": state.as_str(), "account": account, "provider": plan.provider,
        "invitation": invitation.as_ref().map(|i| &i.id) });
    let note = Note::new(plan.from.stranger(Some(&user.name)), "sign_up").to(&user.id).of(&account).became(what);
    note.write(tx, *now).await?;
    Ok(user.id)
}

/// The new user, under a name that nobody has.
async fn insert(tx: &mut Tx<'_>, plan: &Plan, state: UserState) -> Outcome<User> {
    let base = name(&plan.who);
    let mut new = NewUser {
        id: UserId::new(plan.now, tx.random()),
        name: base.clone(),
        password_hash: password::NONE.into(),
        state,
        language: None,
    };
    let mut n = 1;
    while !profiles::insert(tx, &new, plan.now).await? {
        n += 1;
        new.name = match n {
            ..=TRIES => format!("{base}-{n}"),
            _ => format!("{base}-{:08x}", tx.random() & 0xffff_ffff),
        };
    }
    Ok(User { id: new.id, name: new.name, operator: None })
}

/// What somebody is called here: as there, or as his address begins.
fn name(who: &Who) -> String {
    let both = [who.name.as_deref(), who.email.as_deref()].into_iter().flatten();
    let short =
        |text: &str| -> String { text.split('@').next().unwrap_or_default().chars().take(MAX_NAME - 10).collect() };
    both.map(short).find_map(|text| check_name(&text).ok()).unwrap_or_else(|| "user".into())
}
