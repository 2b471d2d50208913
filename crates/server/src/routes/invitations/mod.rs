//! Invitations into accounts and to sign up.

pub mod accept;
pub mod invite_member;
pub mod invite_user;
pub mod list;
pub mod revoke;

use api::member::Invited;
use base::{Cause, Error, Result, Span, Timestamp};
use futures_util::FutureExt;
use store::invitations::{self, Invitation};

use crate::auth::token_hash;
use crate::error::ApiResult;
use crate::letters::Post;
use crate::state::App;
use crate::trail::Note;

/// Beginning of every secret, so that a leaked one is recognised.
const PREFIX: &str = "inv_";

/// How long one lasts that says nothing, and at most, days.
const USUAL_DAYS: i64 = 7;
const MOST_DAYS: i64 = 90;

/// A new secret; whoever has it can accept.
fn new_secret() -> String {
    format!("{PREFIX}{}", hex::encode(rand::random::<[u8; 32]>()))
}

/// Where the invited person goes. What stands behind `#` stays in his browser: no
/// log on the way sees it.
fn link(site: &str, secret: &str) -> String {
    format!("{site}/sign-up#{secret}")
}

/// When an invitation ends.
fn end(days: Option<i64>, now: Timestamp) -> Result<Timestamp> {
    let days = days.unwrap_or(USUAL_DAYS);
    if !(1..=MOST_DAYS).contains(&days) {
        return Err(Error::new(Cause::InvalidRequest, format!("an invitation lasts 1 to {MOST_DAYS} days")));
    }
    Ok(now.after(Span::from_hours(24 * days)))
}

/// Writes an invitation down, and the mail to whom it names.
async fn write(app: &App, site: &str, invitation: Invitation, secret: String, note: Note) -> ApiResult<Invited> {
    let told = Invited {
        id: invitation.id.clone(),
        link: link(site, &secret),
        secret: secret.clone(),
        expires_at: invitation.expires_at,
    };
    let (now, hash) = (invitation.created_at, token_hash(&secret));
    let post = Post::new(app, &app.settings().await?, now);
    app.store
        .write(move |tx| {
            let (invitation, hash, note) = (invitation.clone(), hash.clone(), note.clone());
            let (post, secret) = (post.clone(), secret.clone());
            async move {
                invitations::insert(tx, &invitation, &hash).await?;
                post.invite(tx, &invitation, &secret).await?;
                note.write(tx, now).await
            }
            .boxed()
        })
        .await?;
    Ok(told)
}
