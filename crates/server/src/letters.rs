//! Mail with links that open something: to prove an address, to set a new password.

use base::{Result, Span, Timestamp, UserId};
use deliver::Letter;
use store::invitations::Invitation;
use store::mail_links::{self, Link, Purpose};
use store::profiles::Profile;
use store::settings::Settings;
use store::users::User;
use store::{Outcome, Tx, outbox};

use crate::auth::{new_token, token_hash};
use crate::state::App;

/// How long a link is good that proves an address, and one that sets a password.
const VERIFY: Span = Span::from_hours(24);
const RESET: Span = Span::from_hours(1);

/// Most mail to one address within an hour, so that nobody can have another's
/// mailbox filled. What was sent before stays good.
const MOST: i64 = 10;

/// An address as it is kept: in lower case.
///
/// # Errors
/// `invalid-request` for what is no address.
pub fn address(text: &str) -> Result<String> {
    let address = text.trim().to_lowercase();
    if deliver::smtp::is_address(&address) {
        return Ok(address);
    }
    Err(base::Error::new(base::Cause::InvalidRequest, format!("`{}` is no e-mail address", text.escape_debug()))
        .hint("write it like wei@example.org"))
}

/// Writes mail of one site, in one transaction.
#[derive(Clone)]
pub struct Post {
    app: App,
    settings: Settings,
    now: Timestamp,
}

impl Post {
    /// Mail of this site as it is set now.
    pub fn new(app: &App, settings: &Settings, now: Timestamp) -> Self {
        Self { app: app.clone(), settings: settings.clone(), now }
    }

    /// Has a user prove that an address is his. Kept as his unproven address even
    /// where no mail leaves.
    ///
    /// # Errors
    /// The database's.
    pub async fn verify(&self, tx: &mut Tx<'_>, user: &User, email: &str, language: Option<&str>) -> Outcome<()> {
        let link = self.link(tx, user, Purpose::Verify, email, VERIFY).await?;
        self.send(tx, email, language, &Letter::Verify { user: user.name.clone(), link }).await
    }

    /// Lets a user set a new password.
    ///
    /// # Errors
    /// The database's.
    pub async fn reset(&self, tx: &mut Tx<'_>, to: &Profile, email: &str) -> Outcome<()> {
        let link = self.link(tx, &to.user, Purpose::Reset, email, RESET).await?;
        self.send(tx, email, to.language.as_deref(), &Letter::Reset { user: to.user.name.clone(), link }).await
    }

    /// Tells somebody that he need not sign up again.
    ///
    /// # Errors
    /// The database's.
    pub async fn have_account(&self, tx: &mut Tx<'_>, to: &Profile, email: &str) -> Outcome<()> {
        let page = |path| self.app.way.page(&self.settings, path);
        let (sign_in, forgot) = (page("/sign-in"), page("/reset"));
        let letter = Letter::HaveAccount { user: to.user.name.clone(), sign_in, forgot };
        self.send(tx, email, to.language.as_deref(), &letter).await
    }

    /// Tells somebody who waited for it whether he was let in, where he has proven
    /// an address.
    ///
    /// # Errors
    /// The database's.
    pub async fn decided(&self, tx: &mut Tx<'_>, user: &UserId, approved: bool) -> Outcome<()> {
        let Some(to) = store::profiles::get(tx, user).await? else { return Ok(()) };
        let Some(email) = to.email.as_deref().filter(|_| to.email_verified_at.is_some()) else { return Ok(()) };
        let user = to.user.name.clone();
        let letter = match approved {
            true => Letter::Approved { user, sign_in: self.app.way.page(&self.settings, "/sign-in") },
            false => Letter::NotApproved { user },
        };
        self.send(tx, email, to.language.as_deref(), &letter).await
    }

    /// Mails an invitation to whom it names, if it names anybody.
    ///
    /// # Errors
    /// The database's.
    pub async fn invite(&self, tx: &mut Tx<'_>, invitation: &Invitation, secret: &str) -> Outcome<()> {
        let Some(email) = &invitation.email else { return Ok(()) };
        // Never the address by which the inviter came: that he may choose himself.
        let link = self.app.way.page(&self.settings, &format!("/sign-up#{secret}"));
        let letter = Letter::Invitation { by: invitation.by.clone(), into: invitation.into.clone(), link };
        let inviter = store::profiles::get(tx, &invitation.created_by).await?;
        let language = inviter.and_then(|p| p.language);
        self.send(tx, email, language.as_deref(), &letter).await
    }

    async fn link(&self, tx: &mut Tx<'_>, user: &User, purpose: Purpose, email: &str, good: Span) -> Outcome<String> {
        let secret = new_token();
        let (hash, email, expires_at) = (token_hash(&secret), email.to_owned(), self.now.after(good));
        mail_links::insert(tx, &user.id, &Link { purpose, hash, email, expires_at }, self.now).await?;
        // Behind `#` it is not sent to any server, so it is in no log.
        let page = match purpose {
            Purpose::Verify => "/verify",
            Purpose::Reset => "/reset",
        };
        Ok(self.app.way.page(&self.settings, &format!("{page}#{secret}")))
    }

    async fn send(&self, tx: &mut Tx<'_>, to: &str, language: Option<&str>, letter: &Letter) -> Outcome<()> {
        if outbox::count_since(tx, to, self.now.before(Span::from_hours(1))).await? >= MOST {
            tracing::info!("a mail is not written: its address has had {MOST} within an hour");
            return Ok(());
        }
        self.app.way.write(tx, &self.settings, to, language, letter, self.now).await
    }
}
