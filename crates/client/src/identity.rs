//! Calls about the site, and about oneself as a person.

use api::identity::{IdentityRequest, IdentityView};
use api::session::{ChangePassword, ForgotPassword, LogoutEverywhere, Noted, ResetPassword, Sessions};
use api::sign_up::{EmailVerified, InvitationPreview, SignUpRequest, SignedUp, VerifyEmail};
use api::site::{SettingsRequest, SettingsView, SiteView};
use api::totp::{RecoveryCodes, TotpConfirm, TotpPrepared, TotpRemove};
use base::Result;
use http::Method;

use crate::Client;
use crate::http::Call;

impl Client {
    /// What everybody may know of the site.
    pub async fn site(&self) -> Result<SiteView> {
        self.json(Call::new(Method::GET, &["site"])).await
    }

    /// What the operator has set (operator).
    pub async fn site_settings(&self) -> Result<SettingsView> {
        self.json(Call::new(Method::GET, &["site", "settings"])).await
    }

    /// Sets what the request names (operator).
    pub async fn set_site_settings(&self, request: &SettingsRequest) -> Result<SettingsView> {
        self.json(Call::new(Method::PUT, &["site", "settings"]).body(request)?).await
    }

    /// Signs up.
    pub async fn sign_up(&self, request: &SignUpRequest) -> Result<SignedUp> {
        self.json(Call::new(Method::POST, &["signup"]).body(request)?).await
    }

    /// What an invitation is for.
    pub async fn invitation_preview(&self, secret: &str) -> Result<InvitationPreview> {
        self.json(Call::new(Method::GET, &["invitations", secret, "preview"])).await
    }

    /// Proves an address by the link that was mailed to it.
    pub async fn verify_email(&self, request: &VerifyEmail) -> Result<EmailVerified> {
        self.json(Call::new(Method::POST, &["email", "verify"]).body(request)?).await
    }

    /// Has that link mailed once more.
    pub async fn resend_email(&self) -> Result<()> {
        self.bytes(Call::new(Method::POST, &["email", "resend"])).await.map(drop)
    }

    /// Where the caller is signed in.
    pub async fn sessions(&self) -> Result<Sessions> {
        self.json(Call::new(Method::GET, &["sessions"])).await
    }

    /// Signs the caller out elsewhere.
    pub async fn end_session(&self, id: &str) -> Result<()> {
        self.bytes(Call::new(Method::DELETE, &["sessions", id])).await.map(drop)
    }

    /// Signs the caller out everywhere, here too.
    pub async fn logout_everywhere(&self, request: &LogoutEverywhere) -> Result<()> {
        self.bytes(Call::new(Method::POST, &["logout-everywhere"]).body(request)?).await.map(drop)
    }

    /// Sets another password.
    pub async fn change_password(&self, request: &ChangePassword) -> Result<()> {
        self.bytes(Call::new(Method::POST, &["password"]).body(request)?).await.map(drop)
    }

    /// Has a link mailed to set a new password, if the address is a user's.
    pub async fn forgot_password(&self, request: &ForgotPassword) -> Result<Noted> {
        self.json(Call::new(Method::POST, &["password", "forgot"]).body(request)?).await
    }

    /// Sets a new password by that link.
    pub async fn reset_password(&self, request: &ResetPassword) -> Result<()> {
        self.bytes(Call::new(Method::POST, &["password", "reset"]).body(request)?).await.map(drop)
    }

    /// Makes a secret for an authenticator app.
    pub async fn prepare_totp(&self) -> Result<TotpPrepared> {
        self.json(Call::new(Method::POST, &["totp"])).await
    }

    /// Makes the second factor count.
    pub async fn confirm_totp(&self, request: &TotpConfirm) -> Result<RecoveryCodes> {
        self.json(Call::new(Method::POST, &["totp", "confirm"]).body(request)?).await
    }

    /// Takes the second factor away.
    pub async fn remove_totp(&self, request: &TotpRemove) -> Result<()> {
        self.bytes(Call::new(Method::POST, &["totp", "remove"]).body(request)?).await.map(drop)
    }

    /// Whether it is known who the caller is.
    pub async fn identity(&self) -> Result<IdentityView> {
        self.json(Call::new(Method::GET, &["identity"])).await
    }

    /// Has the operator's service find out who the caller is.
    pub async fn check_identity(&self, request: &IdentityRequest) -> Result<IdentityView> {
        self.json(Call::new(Method::POST, &["identity"]).body(request)?).await
    }
}
