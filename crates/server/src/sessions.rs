//! Sessions: beginning one, and when tokens were last used.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use base::{Span, Timestamp, TokenId, UserId};
use futures_util::FutureExt;
use store::audit_log::{Actor, ActorKind};
use store::tokens::{self, Found, Session, SessionKind};
use store::users::User;
use store::{Outcome, Tx};

use crate::auth::{COOKIE_NAME, address, csrf, new_token, token_hash};
use crate::request_id;
use crate::state::App;

/// How long a session lasts.
const LASTS: Span = Span::from_hours(24 * 30);

/// How exactly it is noted when a token was used.
const NOTED: Span = Span::from_secs(60);

/// Longest name of a program that is kept, characters.
const LONGEST_AGENT: usize = 200;

/// Longest name of a stranger that is written down, characters.
const LONGEST_NAME: usize = 100;

/// Where somebody signs in, as far as the request tells.
#[derive(Clone, Debug, Default)]
pub struct From {
    /// His address.
    pub address: Option<String>,
    /// His program.
    pub agent: Option<String>,
    /// Whether he came over HTTPS, by the word of the proxy.
    pub secure: bool,
}

impl From {
    /// Where a request comes from.
    pub fn of(parts: &Parts) -> Self {
        let text = |name: &str| parts.headers.get(name).and_then(|v| v.to_str().ok());
        Self {
            address: address(parts),
            agent: text("user-agent").map(|agent| agent.chars().take(LONGEST_AGENT).collect()),
            secure: text("x-forwarded-proto").is_some_and(|proto| proto.eq_ignore_ascii_case("https")),
        }
    }
}

impl From {
    /// A stranger who calls himself so, for the audit log.
    pub fn stranger(&self, name: Option<&str>) -> Actor {
        Actor {
            kind: ActorKind::Stranger,
            id: None,
            name: name.map(|name| name.chars().take(LONGEST_NAME).collect()),
            address: self.address.clone(),
            request: request_id::current(),
        }
    }

    /// A user who has just proven himself, for the audit log.
    pub fn user(&self, user: &User) -> Actor {
        Actor {
            kind: ActorKind::User,
            id: Some(user.id.to_string()),
            name: Some(user.name.clone()),
            address: self.address.clone(),
            request: request_id::current(),
        }
    }
}

/// [`From`] of the request, whoever sends it.
pub struct Where(pub From);

impl<S: Send + Sync> FromRequestParts<S> for Where {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(From::of(parts)))
    }
}

/// A session that was just begun.
#[derive(Clone, Debug)]
pub struct Begun {
    /// Its secret, which is nowhere else.
    pub secret: String,
    /// Until when.
    pub expires_at: Timestamp,
    kind: SessionKind,
    secure: bool,
}

impl Begun {
    /// The secret, where its owner keeps it himself.
    pub fn token(&self) -> Option<String> {
        (self.kind == SessionKind::Login).then(|| self.secret.clone())
    }

    /// What the browser's page has to send with changes.
    pub fn csrf(&self) -> Option<String> {
        (self.kind == SessionKind::Cookie).then(|| csrf(&self.secret))
    }

    /// The headers that give a browser its cookie.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if self.kind == SessionKind::Cookie {
            let secure = if self.secure { "; Secure" } else { "" };
            let age = LASTS.secs();
            let text = format!("{COOKIE_NAME}={}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age}{secure}", self.secret);
            // A hex secret is always a header value.
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert("set-cookie", value);
            }
        }
        headers
    }
}

/// The header that takes the cookie away from a browser.
pub fn no_cookie() -> HeaderMap {
    let mut headers = HeaderMap::new();
    let gone = HeaderValue::from_static("suanli_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
    headers.insert("set-cookie", gone);
    headers
}

/// Begins a session of a user whose proof was looked at before.
///
/// # Errors
/// The database's.
pub async fn begin(
    tx: &mut Tx<'_>,
    user: &UserId,
    kind: SessionKind,
    name: Option<String>,
    from: &From,
    now: Timestamp,
) -> Outcome<Begun> {
    let secret = new_token();
    let expires_at = now.after(LASTS);
    let session = Session {
        id: TokenId::new(now, tx.random()),
        kind,
        name: name.unwrap_or_else(|| kind.as_str().to_owned()),
        created_at: now,
        expires_at,
        used_at: None,
        address: from.address.clone(),
        agent: from.agent.clone(),
    };
    tokens::insert(tx, user, &session, &token_hash(&secret)).await?;
    Ok(Begun { secret, expires_at, kind, secure: from.secure })
}

/// When tokens were noted as used, so that not every request writes.
#[derive(Debug, Default)]
pub struct Sessions {
    noted: Mutex<BTreeMap<TokenId, Timestamp>>,
}

impl Sessions {
    /// Notes in the background that a token is used, at most once a minute.
    pub(crate) fn used(&self, app: &App, token: &Found, now: Timestamp) {
        let recent = |at: Timestamp| now.since(at) < NOTED;
        if token.used_at.is_some_and(recent) {
            return;
        }
        {
            let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
            if noted.get(&token.id).is_some_and(|at| recent(*at)) {
                return;
            }
            noted.retain(|_, at| recent(*at));
            noted.insert(token.id.clone(), now);
        }
        let (store, id) = (app.store.clone(), token.id.clone());
        tokio::spawn(async move {
            let written = store.write(move |tx| {
                let id = id.clone();
                async move { tokens::used(tx, &id, now).await }.boxed()
            });
            if let Err(error) = written.await {
                tracing::debug!(%error, "it could not be noted that a token was used");
            }
        });
    }
}
