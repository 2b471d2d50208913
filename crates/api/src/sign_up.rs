//! Signing up, and proving an address.

use crate::session::UserView;
use crate::words::SignUpState;
use base::Timestamp;
use domain::rights::Role;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /v1/signup`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignUpRequest {
    /// Unique name, without `@`.
    pub name: String,
    /// His address; needed where the site takes whoever has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// At least 10 characters, and not one that everybody tries first.
    pub password: String,
    /// What is behind `#` in the link of an invitation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invitation: Option<String>,
    /// Language of mail to him, such as `zh` or `en`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// IANA time zone of the months of his account; without it that of the language, or UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Signs in at once, with a cookie, where nothing is left to do.
    #[serde(default)]
    pub cookie: bool,
}

/// Somebody has signed up.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SignedUp {
    /// `ready`, `check-email` or `awaiting-approval`.
    #[schema(value_type = SignUpState)]
    pub state: String,
    /// With a cookie: send it as `X-CSRF-Token` with whatever changes something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csrf: Option<String>,
    /// Who signed up; only where he is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<UserView>,
}

/// `GET /v1/invitations/{secret}/preview`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct InvitationPreview {
    /// Into this account; absent: to have one of one's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// As what: `owner`, `admin`, `member`, `billing` or `viewer`.
    #[schema(value_type = Role)]
    pub role: String,
    /// For this address alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Who invites.
    pub by: String,
    /// Until when.
    pub expires_at: Timestamp,
}

/// `POST /v1/email/verify`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyEmail {
    /// What is behind `#` in the link that was mailed.
    pub token: String,
}

/// An address was proven.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EmailVerified {
    /// `ready`: the user can sign in; `awaiting-approval`: an operator looks first.
    #[schema(value_type = SignUpState)]
    pub state: String,
}
