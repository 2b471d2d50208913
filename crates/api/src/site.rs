//! The site itself: what everybody sees of it, and what its operator has set.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::SignUpRule;

/// `GET /v1/site`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SiteView {
    /// Its name.
    pub name: String,
    /// Who may sign up: `closed`, `invitation` or `email`.
    #[schema(value_type = SignUpRule)]
    pub sign_up: String,
    /// Whether an operator approves whom no operator has invited.
    pub approval: bool,
    /// Who signs users in besides this site.
    pub providers: Vec<ProviderLink>,
    /// Currency of its prices.
    pub currency: String,
    /// Whether only identified users may rent.
    pub identity_required: bool,
    /// Whether mail leaves it, so that passwords can be reset by mail.
    pub mail: bool,
    /// Whether it rents fake cards out, for trying.
    pub fake: bool,
    /// Version of the server.
    pub version: String,
}

/// A provider that signs users in.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProviderLink {
    /// Its word in `/v1/oidc/{provider}/start`.
    pub id: String,
    /// Its name for people.
    pub label: String,
}

/// `GET /v1/site/settings` (operator). Secrets are never shown.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SettingsView {
    /// Name of the site.
    pub name: String,
    /// `closed`, `invitation` or `email`.
    #[schema(value_type = SignUpRule)]
    pub sign_up: String,
    /// Whether an operator approves whom no operator has invited.
    pub approval: bool,
    /// Where browsers find the console; empty: mail names the address that the server listens on.
    pub public_url: String,
    /// Whether only identified users may rent.
    pub identity_required: bool,
    /// Address of the service that checks identities.
    pub identity_url: Secret,
    /// Who signs users in besides this site.
    pub providers: Vec<ProviderView>,
    /// How mail leaves.
    pub mail: MailView,
}

/// A value that is kept and not shown.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct Secret {
    /// Whether there is one.
    pub set: bool,
}

/// An OIDC provider.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProviderView {
    /// Its word in addresses.
    pub id: String,
    /// Its name for people.
    pub label: String,
    /// Its address.
    pub issuer: String,
    /// How it knows this site.
    pub client_id: String,
    /// How this site proves itself to it.
    pub client_secret: Secret,
}

/// How mail leaves.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MailView {
    /// The mail server with its password.
    pub url: Secret,
    /// The mail server without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// `PUT /v1/site/settings` (operator): what is absent stays as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SettingsRequest {
    /// Name of the site.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `closed`, `invitation` or `email`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<SignUpRule>)]
    pub sign_up: Option<String>,
    /// Whether an operator approves whom no operator has invited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<bool>,
    /// Where browsers find the console, such as `https://gpu.example.org`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    /// Whether only identified users may rent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_required: Option<bool>,
    /// Address of the service that checks identities; empty: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_url: Option<String>,
    /// All providers; one whose `client_secret` is absent keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub providers: Option<Vec<ProviderRequest>>,
    /// How mail leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mail: Option<MailRequest>,
}

/// An OIDC provider as it should be.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderRequest {
    /// Its word in addresses: small letters, digits and `-`.
    pub id: String,
    /// Its name for people; default is its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its address, where `/.well-known/openid-configuration` is.
    pub issuer: String,
    /// How it knows this site.
    pub client_id: String,
    /// How this site proves itself to it; empty: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
}

/// How mail should leave.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MailRequest {
    /// `smtps://user:password@host` or `smtp://…`; empty: no mail leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The sender, such as `GPU cloud <gpu@example.org>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}
