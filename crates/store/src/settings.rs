//! What the operator has set for the site: one sealed value in `site`.

use base::Error;
use serde::{Deserialize, Serialize};
use sqlx::AnyConnection;

use crate::row::to_json;
use crate::secrets::{SETTINGS, SETTINGS_KEY, open};
use crate::{Outcome, Tx, site};

/// Who may sign up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SignUp {
    /// Nobody: operators make accounts.
    Closed,
    /// Whoever has an invitation.
    #[default]
    Invitation,
    /// Whoever has an e-mail address.
    Email,
}

impl SignUp {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Invitation => "invitation",
            Self::Email => "email",
        }
    }
}

/// An OIDC provider that signs users in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    /// Its word in addresses.
    pub id: String,
    /// Its name for people.
    pub label: String,
    /// Its address, where `/.well-known/openid-configuration` is.
    pub issuer: String,
    /// How it knows this site.
    pub client_id: String,
    /// How this site proves itself to it. Secret.
    pub client_secret: Option<String>,
}

/// How mail leaves the site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// `smtp://` or `smtps://`, with user and password where the server asks for
    /// them. Secret.
    pub url: String,
    /// The sender's address.
    pub from: String,
}

/// Everything that the operator has set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Name of the site; empty: `Suanli`.
    pub name: String,
    /// Who may sign up.
    pub sign_up: SignUp,
    /// Whether an operator approves whom no operator has invited.
    pub approval: bool,
    /// Where browsers find the console, without a slash at the end; empty: not told.
    pub public_url: String,
    /// Whether only identified users may rent.
    pub identity_required: bool,
    /// Where identities are checked, if by a web service. Secret, as it may hold a key.
    pub identity_url: Option<String>,
    /// Who signs users in besides this site.
    pub providers: Vec<Provider>,
    /// How mail leaves.
    pub mail: Option<Mail>,
}

impl Settings {
    /// The name of the site.
    pub fn site_name(&self) -> &str {
        if self.name.is_empty() { "Suanli" } else { &self.name }
    }
}

/// What is set; the defaults where nothing was.
pub async fn get(db: &mut AnyConnection) -> Outcome<Settings> {
    let Some(text) = site::get(db, SETTINGS_KEY).await? else {
        return Ok(Settings::default());
    };
    let plain = open(SETTINGS, SETTINGS_KEY, text)?;
    serde_json::from_str(&plain).map_err(|e| Error::internal(e).context("settings of the site").into())
}

/// Sets everything.
pub async fn set(tx: &mut Tx<'_>, settings: &Settings) -> Outcome<()> {
    let value = tx.sealed(SETTINGS, SETTINGS_KEY, &to_json(settings)?)?;
    site::set(tx, SETTINGS_KEY, &value).await
}
