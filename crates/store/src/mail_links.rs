//! Links that were mailed: whoever has one reads that mail. Only hashes of their
//! secrets are kept.

use base::{Timestamp, UserId};
use sqlx::{AnyConnection, Row};

use crate::row::parsed;
use crate::words::words;
use crate::{Outcome, Tx};

words! {
    /// What a link is for.
    Purpose {
        /// To prove that an address is the user's.
        Verify = "verify",
        /// To set a new password.
        Reset = "reset",
    }
}

/// A link that is about to be mailed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What it is for.
    pub purpose: Purpose,
    /// SHA-256 of its secret, hex.
    pub hash: String,
    /// Where it is mailed, in lower case.
    pub email: String,
    /// Until when it is good.
    pub expires_at: Timestamp,
}

/// Keeps a link. Those from before stay good, so that nobody can spoil another's
/// by asking for more.
pub async fn insert(tx: &mut Tx<'_>, user: &UserId, link: &Link, now: Timestamp) -> Outcome<()> {
    sqlx::query(
        "INSERT INTO mail_links (hash, user_id, purpose, email, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(link.hash.as_str())
    .bind(user.as_str())
    .bind(link.purpose.as_str())
    .bind(link.email.as_str())
    .bind(now.micros())
    .bind(link.expires_at.micros())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Uses a link up, and every other one of that user for the same purpose: whose
/// it is, and the address that it was mailed to. `None`: no such link is good.
pub async fn use_up(
    tx: &mut Tx<'_>,
    hash: &str,
    purpose: Purpose,
    now: Timestamp,
) -> Outcome<Option<(UserId, String)>> {
    let row = sqlx::query(
        "UPDATE mail_links SET used_at = $3 WHERE hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3
         RETURNING user_id, email",
    )
    .bind(hash)
    .bind(purpose.as_str())
    .bind(now.micros())
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let user: UserId = parsed(&row, "user_id")?;
    drop_all(tx, &user, purpose).await?;
    Ok(Some((user, row.try_get("email")?)))
}

/// Forgets every link of a user for a purpose.
pub async fn drop_all(tx: &mut Tx<'_>, user: &UserId, purpose: Purpose) -> Outcome<()> {
    sqlx::query("DELETE FROM mail_links WHERE user_id = $1 AND purpose = $2")
        .bind(user.as_str())
        .bind(purpose.as_str())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// The address that a user gave last and that is not proven yet.
pub async fn pending(db: &mut AnyConnection, user: &UserId) -> Outcome<Option<String>> {
    let row = sqlx::query(
        "SELECT email FROM mail_links WHERE user_id = $1 AND purpose = 'verify' AND used_at IS NULL
         ORDER BY created_at DESC LIMIT 1",
    )
    .bind(user.as_str())
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok(row.try_get("email")?)).transpose()
}

/// Whose link this is, if it is good.
pub async fn find(db: &mut AnyConnection, hash: &str, purpose: Purpose, now: Timestamp) -> Outcome<Option<UserId>> {
    let row = sqlx::query(
        "SELECT user_id FROM mail_links WHERE hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3",
    )
    .bind(hash)
    .bind(purpose.as_str())
    .bind(now.micros())
    .fetch_optional(db)
    .await?;
    row.as_ref().map(|row| parsed(row, "user_id")).transpose()
}
