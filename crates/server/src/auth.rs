//! Who calls: bearer tokens, and what an operator alone may do.

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use base::{AccountId, Cause, Error};
use sha2::{Digest, Sha256};
use store::events::Audience;
use store::users::{self, Member, User};

use crate::error::ApiError;
use crate::state::App;

/// Beginning of every token, so that a leaked one is recognised.
pub const TOKEN_PREFIX: &str = "suanli_";

/// A signed-in user.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who.
    pub user: User,
    /// His accounts.
    pub memberships: Vec<Member>,
    /// Hash of the token that he came with.
    pub token_hash: String,
}

impl Caller {
    /// Whether he may see and use what belongs to an account.
    pub fn may_use(&self, account: &AccountId) -> bool {
        self.user.operator || self.memberships.iter().any(|m| m.account == *account)
    }

    /// Which events he may see.
    pub fn audience(&self) -> Audience {
        if self.user.operator {
            return Audience::Operator;
        }
        Audience::Accounts(self.memberships.iter().map(|m| m.account.clone()).collect())
    }
}

/// A signed-in operator.
#[derive(Clone, Debug)]
pub struct Operator(pub Caller);

/// What is stored of a token's secret. A fast hash is right here: the secret is
/// 256 random bits, not a password.
pub fn token_hash(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}

/// A new token's secret.
pub fn new_token() -> String {
    format!("{TOKEN_PREFIX}{}", hex::encode(rand::random::<[u8; 32]>()))
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let refused = |why: &str| {
            Error::new(Cause::Unauthenticated, why.to_owned())
                .hint("sign in with `suanli login URL`, or send a valid token")
        };
        let header = parts.headers.get(AUTHORIZATION).and_then(|v| v.to_str().ok());
        let secret = header
            .and_then(|h| h.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, secret)| secret.trim())
            .ok_or_else(|| refused("this needs a bearer token"))?;
        let hash = token_hash(secret);
        let mut db = app.store.read().await?;
        let found = users::by_token(&mut db, &hash).await?;
        let (user, expires) = found.ok_or_else(|| refused("the token is not valid"))?;
        if expires <= app.now() {
            return Err(refused("the token has expired").into());
        }
        let memberships = users::memberships(&mut db, &user.id).await?;
        Ok(Self { user, memberships, token_hash: hash })
    }
}

impl FromRequestParts<App> for Operator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, app).await?;
        if caller.user.operator {
            return Ok(Self(caller));
        }
        Err(Error::new(Cause::Forbidden, "only an operator of this site may do this").into())
    }
}
