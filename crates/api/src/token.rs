//! API tokens and SSH keys of a user.

use base::{AccountId, KeyId, Timestamp, TokenId};
use domain::rights::Scope;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An API token; its secret is not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    /// Id.
    pub id: TokenId,
    /// What its owner calls it.
    pub name: String,
    /// What it may be used for: `read`, `instances`, `money`, `members`, `operate`.
    #[schema(value_type = Vec<Scope>)]
    pub scopes: Vec<String>,
    /// Only this account; absent: every account of its owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountId>,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when.
    pub expires_at: Timestamp,
    /// When it was last used, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
}

/// `POST /v1/tokens`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateToken {
    /// What it is for, as its owner calls it.
    pub name: String,
    /// What it may be used for: `read`, `instances`, `money`, `members`, `operate`.
    #[schema(value_type = Vec<Scope>)]
    pub scopes: Vec<String>,
    /// Id or name of the only account that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Until when, at most a year ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// For how many days instead, 1 to 365; default 90.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<i64>,
}

/// A new token and the only showing of its secret.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CreatedToken {
    /// The token.
    #[serde(flatten)]
    pub view: TokenView,
    /// Send it as `Authorization: Bearer …`. Shown only here.
    pub token: String,
}

/// An SSH public key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyView {
    /// Id.
    pub id: KeyId,
    /// What its owner calls it.
    pub name: String,
    /// `SHA256:…` as OpenSSH prints it.
    pub fingerprint: String,
    /// The kind, such as `ssh-ed25519`.
    pub kind: String,
    /// Since when.
    pub created_at: Timestamp,
}

/// `POST /v1/keys`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddKey {
    /// What its owner calls it; default: the key's own remark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The line of the `.pub` file. Never a private key.
    pub key: String,
}
