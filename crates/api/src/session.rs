//! Signing in.

use base::{AccountId, Timestamp, TokenId, UserId};
use domain::rights::{OperatorRole, Role, Scope};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{IdentityState, SessionKind};

/// `POST /v1/login`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginRequest {
    /// Name of the user, or his e-mail address.
    pub user: String,
    /// The password.
    pub password: String,
    /// The code of the second factor, or a recovery code, where the user has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Keeps the session in a cookie of the browser instead of giving a token.
    #[serde(default)]
    pub cookie: bool,
    /// What the token is for, shown in lists; default `login`.
    #[serde(default)]
    pub name: Option<String>,
}

/// A session that has begun.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LoginResponse {
    /// Send it as `Authorization: Bearer …`. Shown only here; absent where a cookie holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// With a cookie: send it as `X-CSRF-Token` with whatever changes something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csrf: Option<String>,
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
    /// His e-mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Whether he has proven that it is his.
    #[serde(default)]
    pub email_verified: bool,
    /// Whether this user operates the site.
    pub operator: bool,
    /// As what: `admin`, `support`, `finance` or `auditor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<OperatorRole>)]
    pub operator_role: Option<String>,
    /// Whether a second factor is asked of him.
    #[serde(default)]
    pub totp: bool,
    /// Whether it is known who he is: `none`, `pending`, `verified` or `refused`.
    #[serde(default)]
    #[schema(value_type = IdentityState)]
    pub identity: String,
}

/// `GET /v1/whoami`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WhoAmI {
    /// The user.
    pub user: UserView,
    /// The accounts that he belongs to.
    pub accounts: Vec<Membership>,
    /// Ids of the providers at which he can sign in too.
    #[serde(default)]
    pub providers: Vec<String>,
    /// With a cookie: send it as `X-CSRF-Token` with whatever changes something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csrf: Option<String>,
    /// The API token that the request came with; absent where somebody signed in himself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenLimits>,
}

/// What an API token is limited to.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenLimits {
    /// Kinds of deeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Scope>>)]
    pub scopes: Option<Vec<String>>,
}

/// `GET /v1/sessions`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Sessions {
    /// Newest first.
    pub items: Vec<SessionView>,
}

/// A place where a user is signed in.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
    /// Id.
    pub id: TokenId,
    /// What its owner calls it.
    pub name: String,
    /// `cookie` in a browser, `login` on a command line.
    #[schema(value_type = SessionKind)]
    pub kind: String,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when.
    pub expires_at: Timestamp,
    /// When it was last used, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// From where it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// With what program, as that said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether this request came with it.
    pub current: bool,
}

/// `POST /v1/logout-everywhere`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogoutEverywhere {
    /// Takes API tokens back too.
    #[serde(default)]
    pub tokens: bool,
}

/// `POST /v1/password`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePassword {
    /// The password until now.
    pub old: String,
    /// The password from now on: at least 10 characters, and not one that everybody tries first.
    pub new: String,
}

/// `POST /v1/password/forgot`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgotPassword {
    /// The address that the user has proven.
    pub email: String,
}

/// The answer to `POST /v1/password/forgot`, which tells nothing.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Noted {}

/// `POST /v1/password/reset`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetPassword {
    /// What is behind `#` in the link that was mailed.
    pub token: String,
    /// The password from now on.
    pub password: String,
}

/// A user's place in an account.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Membership {
    /// The account.
    pub id: AccountId,
    /// Its name.
    pub name: String,
    /// `owner`, `admin`, `member`, `billing` or `viewer`.
    #[schema(value_type = Role)]
    pub role: String,
    /// Currency of all its amounts.
    pub currency: String,
    /// IANA time zone of its days and months.
    pub time_zone: String,
}
