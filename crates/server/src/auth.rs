//! Who calls: tokens and cookies, and what their owners may do.

use std::marker::PhantomData;

use axum::extract::{FromRequestParts, MatchedPath};
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN, UPGRADE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use base::{AccountId, Cause, Error, Result};
use domain::rights::{Action, OperatorRole, Role};
use sha2::{Digest, Sha256};
use store::audit_log::{Actor, ActorKind};
use store::events::Audience;
use store::tokens::{self, Found, SessionKind};
use store::users::{self, Member, User, UserState};

use crate::error::ApiError;
use crate::limits::Origin;
use crate::observed::Limit;
use crate::state::App;
use crate::trail;

/// Beginning of every token, so that a leaked one is recognised.
pub const TOKEN_PREFIX: &str = "suanli_";

/// Name of the cookie of a signed-in browser.
pub const COOKIE_NAME: &str = "suanli_session";

/// Header that a browser's page has to send with whatever changes something. A
/// page of another site can make the browser send the cookie, but not this.
pub const CSRF_HEADER: &str = "x-csrf-token";

/// A signed-in user.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who.
    pub user: User,
    /// His accounts; of a limited token only the one that it is for.
    pub memberships: Vec<Member>,
    /// The token that he came with.
    pub token: Found,
    /// Who he is in the audit log.
    pub actor: Actor,
    /// What his page has to send with changes; absent without a cookie.
    pub csrf: Option<String>,
}

impl Caller {
    /// His role in an account.
    pub fn role(&self, account: &AccountId) -> Option<Role> {
        self.memberships.iter().find(|m| m.account == *account).map(|m| m.role)
    }

    /// What he is to the site, if his token may be used for that.
    pub fn operator(&self) -> Option<OperatorRole> {
        let limited = self.token.limits.as_ref().is_some_and(|l| l.account.is_some() || l.instance.is_some());
        self.user.operator.filter(|_| !limited)
    }

    /// Whether a text means himself: his id or his name.
    pub fn is(&self, reference: &str) -> bool {
        reference == self.user.id.as_str() || reference == self.user.name
    }

    /// Whether an account exists for him at all.
    pub fn knows(&self, account: &AccountId) -> bool {
        self.role(account).is_some() || self.operator().is_some()
    }

    /// Makes sure that he may do this in an account that he knows.
    ///
    /// # Errors
    /// `forbidden`, with what he is and who may.
    pub fn may(&self, action: Action, account: &AccountId) -> Result<()> {
        let right = action.right();
        let role = self.role(account);
        let allowed = role.is_some_and(|role| right.allows(role))
            || self.operator().is_some_and(|role| right.allows_operator(role));
        if !allowed {
            let what = match role {
                Some(role) => format!("your role in this account is {role}, which does not include {action}"),
                None => format!("an operator does not {action} for others"),
            };
            let who: Vec<_> = right.roles.iter().map(|role| role.as_str()).collect();
            return Err(Error::new(Cause::Forbidden, what)
                .hint(format!("ask somebody of this account who is {}", who.join(" or "))));
        }
        self.in_scope(action)
    }

    /// Makes sure that he may do this to the site.
    ///
    /// # Errors
    /// `forbidden`.
    pub fn operate(&self, action: Action) -> Result<()> {
        let Some(role) = self.operator() else {
            return Err(Error::new(Cause::Forbidden, "only an operator of this site may do this"));
        };
        if !action.right().allows_operator(role) {
            let who: Vec<_> = action.right().operators.iter().map(|role| role.as_str()).collect();
            return Err(Error::new(Cause::Forbidden, format!("the operator role {role} does not include {action}"))
                .hint(format!("ask an operator who is {}", who.join(" or "))));
        }
        self.in_scope(action)
    }

    /// Makes sure that his token may be used for this, whatever it is done to.
    ///
    /// # Errors
    /// `forbidden` for an API token without the scope.
    pub fn in_scope(&self, action: Action) -> Result<()> {
        let needed = action.right().scope;
        match &self.token.limits {
            Some(limits) if !limits.scopes.contains(&needed) => {
                Err(Error::new(Cause::Forbidden, format!("this token does not have the scope `{needed}`"))
                    .hint("make one that has it with `suanli token create --scope`"))
            }
            _ => Ok(()),
        }
    }

    /// Makes sure that he signed in himself: tokens of programs do not change who he is.
    ///
    /// # Errors
    /// `forbidden` for an API token.
    pub fn in_person(&self) -> Result<()> {
        match self.token.session {
            Some(_) => Ok(()),
            None => Err(Error::new(Cause::Forbidden, "an API token may not do this")
                .hint("sign in with `suanli login URL` or in the console")),
        }
    }

    /// Which events he may see.
    pub fn audience(&self) -> Audience {
        if self.operator().is_some() {
            return Audience::Operator;
        }
        Audience::Accounts(self.memberships.iter().map(|m| m.account.clone()).collect())
    }
}

/// Whoever sends a request, if he is signed in.
#[derive(Clone, Debug)]
pub struct Maybe(pub Option<Caller>);

impl FromRequestParts<App> for Maybe {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, std::convert::Infallible> {
        Ok(Self(Caller::from_request_parts(parts, app).await.ok()))
    }
}

/// Somebody who signed in himself, in a request that a program's token may not send.
#[derive(Clone, Debug)]
pub struct InPerson(pub Caller);

impl FromRequestParts<App> for InPerson {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        let caller = Caller::from_request_parts(parts, app).await?;
        caller.in_person().map_err(refusal)?;
        Ok(Self(caller))
    }
}

/// What an operator wants to do, as a type, so that it is refused before the body
/// of the request is looked at.
pub trait Does: Send + Sync {
    /// The action.
    const ACTION: Action;
}

macro_rules! does {
    ($($name:ident),* $(,)?) => {$(
        #[doc = concat!("See [`Action::", stringify!($name), "`].")]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl super::Does for $name {
            const ACTION: domain::rights::Action = domain::rights::Action::$name;
        }
    )*};
}

/// The operators' actions.
pub mod does {
    does!(
        SeeSite,
        CheckPrices,
        LoadPrices,
        MakeAccounts,
        TopUp,
        SetQuotas,
        ManageUsers,
        ManageSite,
        CloseIncidents,
        AuditBooks,
        ReadAuditLog,
        Backup,
    );
}

/// A signed-in operator who may do this.
#[derive(Clone, Debug)]
pub struct Operator<D>(pub Caller, pub PhantomData<D>);

impl<D: Does> FromRequestParts<App> for Operator<D> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        let caller = Caller::from_request_parts(parts, app).await?;
        caller.operate(D::ACTION).map_err(refusal)?;
        Ok(Self(caller, PhantomData))
    }
}

/// What is stored of a token's secret. A fast hash is right here: the secret is
/// 256 random bits, not a password.
pub fn token_hash(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}

/// A new token's secret.
pub fn new_token() -> String {
    format!("{TOKEN_PREFIX}{}", hex::encode(rand::random::<[u8; 32]>()))
}

/// What the page of a browser with this cookie has to send with changes.
pub fn csrf(secret: &str) -> String {
    hex::encode(Sha256::digest(format!("csrf of {secret}").as_bytes()))
}

/// What the token inside an instance may be used for, about that instance alone. A
/// new route is closed to it until it is named here.
const INSIDE: &[(Method, &str)] = &[
    (Method::GET, "/v1/instances/{id}"),
    (Method::GET, "/v1/instances/{id}/why"),
    (Method::GET, "/v1/instances/{id}/usage"),
    (Method::POST, "/v1/instances/{id}/stop"),
];

fn is_for_instances(parts: &Parts) -> bool {
    let Some(path) = parts.extensions.get::<MatchedPath>() else { return false };
    INSIDE.iter().any(|(method, open)| *method == parts.method && *open == path.as_str())
}

fn refusal(error: Error) -> Response {
    ApiError(error).into_response()
}

fn stranger(why: &str) -> Response {
    let error = Error::new(Cause::Unauthenticated, why.to_owned());
    refusal(error.hint("sign in with `suanli login URL`, or send a valid token"))
}

/// The secret of a bearer token.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, secret) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// The secret in the cookie.
pub fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE_NAME).map(|(_, secret)| secret)
}

/// Whether a request with a cookie comes from a page of this site.
fn is_from_here(parts: &Parts, secret: &str) -> Result<(), Error> {
    let text = |name| parts.headers.get(name).and_then(|v: &axum::http::HeaderValue| v.to_str().ok());
    let foreign = || {
        Error::new(Cause::CsrfMissing, "this request did not come from a page of this site")
            .hint("open the console again and repeat it there")
    };
    // Browsers tell it with WebSockets and with whatever changes something; a request without is not a browser's.
    if let (Some(origin), Some(host)) = (text(ORIGIN), text(HOST))
        && origin.split_once("://").map(|(_, rest)| rest) != Some(host)
    {
        return Err(foreign());
    }
    if parts.headers.contains_key(UPGRADE) {
        return if parts.headers.contains_key(ORIGIN) { Ok(()) } else { Err(foreign()) };
    }
    if [Method::GET, Method::HEAD].contains(&parts.method) {
        return Ok(());
    }
    match parts.headers.get(CSRF_HEADER) {
        Some(sent) if sent.as_bytes() == csrf(secret).as_bytes() => Ok(()),
        _ => Err(foreign()),
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        let by_cookie = cookie(&parts.headers).filter(|_| !parts.headers.contains_key(AUTHORIZATION));
        let secret = by_cookie.or_else(|| bearer(&parts.headers));
        let secret = secret.ok_or_else(|| stranger("this needs a bearer token"))?.to_owned();
        let (by_cookie, trouble) = (by_cookie.is_some(), |e: Error| refusal(e));
        let mut db = app.store.read().await.map_err(trouble)?;
        let found = tokens::by_hash(&mut db, &token_hash(&secret)).await.map_err(|e| trouble(e.into()))?;
        // A cookie is no bearer token, nor the other way round.
        let found = found.filter(|f| by_cookie == (f.session == Some(SessionKind::Cookie)));
        let token = found.ok_or_else(|| stranger("the token is not valid"))?;
        let now = app.now();
        if token.expires_at <= now {
            return Err(stranger("the token has expired"));
        }
        if token.state != UserState::Active {
            return Err(stranger("this user cannot be signed in now"));
        }
        // From here on it is known who is refused.
        let actor = actor(parts, &token);
        trail::is(&actor);
        if token.limits.as_ref().is_some_and(|l| l.instance.is_some()) && !is_for_instances(parts) {
            let error = Error::new(Cause::Forbidden, "the token inside an instance may not do this");
            return Err(refusal(error.hint("it sees and stops its own instance, nothing else")));
        }
        if by_cookie {
            is_from_here(parts, &secret).map_err(refusal)?;
        }
        if let Err(too_many) = app.guard.user(&token.user.id) {
            app.observed.limited(Limit::User);
            return Err(too_many.into_response());
        }
        let mut memberships = users::memberships(&mut db, &token.user.id).await.map_err(|e| trouble(e.into()))?;
        drop(db);
        if let Some(only) = token.limits.as_ref().and_then(|l| l.account.as_ref()) {
            memberships.retain(|m| m.account == *only);
        }
        app.sessions.used(app, &token, now);
        Ok(Self { user: token.user.clone(), memberships, token, actor, csrf: by_cookie.then(|| csrf(&secret)) })
    }
}

fn actor(parts: &Parts, token: &Found) -> Actor {
    let kind = match &token.limits {
        Some(limits) if limits.instance.is_some() => ActorKind::Instance,
        Some(_) => ActorKind::Token,
        None => ActorKind::User,
    };
    Actor {
        kind,
        id: Some(token.user.id.to_string()),
        name: Some(token.user.name.clone()),
        address: address(parts),
        request: crate::request_id::current(),
    }
}

/// From where a request comes, as far as that is known.
pub fn address(parts: &Parts) -> Option<String> {
    let origin = parts.extensions.get::<Origin>().copied()?;
    Some(origin.0.map_or_else(|| "this machine".to_owned(), |ip| ip.to_string()))
}
