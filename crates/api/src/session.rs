//! Signing in.

use base::{AccountId, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /v1/login`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginRequest {
    /// Name of the user.
    pub user: String,
    /// The password.
    pub password: String,
    /// What the token is for, shown in lists; default `login`.
    #[serde(default)]
    pub name: Option<String>,
}

/// A fresh bearer token. The secret is shown only here.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LoginResponse {
    /// Send it as `Authorization: Bearer …`.
    pub token: String,
    /// When it stops working.
    pub expires_at: Timestamp,
    /// Who signed in.
    pub user: UserView,
}

/// Who one is.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct UserView {
    /// Id.
    pub id: UserId,
    /// Name.
    pub name: String,
    /// Whether this user operates the site.
    pub operator: bool,
}

/// `GET /v1/whoami`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WhoAmI {
    /// The user.
    pub user: UserView,
    /// The accounts that he belongs to.
    pub accounts: Vec<Membership>,
}

/// A user's place in an account.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Membership {
    /// The account.
    pub id: AccountId,
    /// Its name.
    pub name: String,
    /// `owner` for now.
    pub role: String,
}
