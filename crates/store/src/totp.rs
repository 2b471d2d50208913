//! Second factors: the shared secret, the step of its last code, and codes to
//! recover with.

use base::{Timestamp, UserId};
use sqlx::{AnyConnection, Row};

use crate::row::time_opt;
use crate::secrets::{TOTP, open};
use crate::{Outcome, Tx};

/// A second factor.
#[derive(Clone, PartialEq, Eq)]
pub struct Factor {
    /// The shared secret, base 32.
    pub secret: String,
    /// Since when it counts; `None`: it was not confirmed yet.
    pub since: Option<Timestamp>,
}

impl std::fmt::Debug for Factor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Factor").field("since", &self.since).finish_non_exhaustive()
    }
}

/// The second factor of a user.
pub async fn get(db: &mut AnyConnection, user: &UserId) -> Outcome<Option<Factor>> {
    let row = sqlx::query("SELECT totp_secret, totp_since FROM users WHERE id = $1")
        .bind(user.as_str())
        .fetch_optional(db)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let Some(sealed) = row.try_get::<Option<String>, _>("totp_secret")? else { return Ok(None) };
    Ok(Some(Factor { secret: open(TOTP, user.as_str(), sealed)?, since: time_opt(&row, "totp_since")? }))
}

/// Keeps a secret that does not count before it is confirmed. `false`: the user
/// has a factor that counts, which stays.
pub async fn prepare(tx: &mut Tx<'_>, user: &UserId, secret: &str) -> Outcome<bool> {
    let sealed = tx.sealed(TOTP, user.as_str(), secret)?;
    let done = sqlx::query("UPDATE users SET totp_secret = $2 WHERE id = $1 AND totp_since IS NULL")
        .bind(user.as_str())
        .bind(sealed)
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Makes the prepared secret count, with these hashes of recovery codes. `false`:
/// it counts already, or another one was prepared meanwhile.
pub async fn confirm(
    tx: &mut Tx<'_>,
    user: &UserId,
    secret: &str,
    step: i64,
    recovery: &[String],
    now: Timestamp,
) -> Outcome<bool> {
    // A sealed value is never the same twice, so what is there has to be opened.
    if get(tx, user).await?.is_none_or(|factor| factor.secret != secret) {
        return Ok(false);
    }
    let done = sqlx::query(
        "UPDATE users SET totp_since = $2, totp_step = $3 WHERE id = $1 AND totp_since IS NULL AND totp_secret IS NOT NULL",
    )
    .bind(user.as_str())
    .bind(now.micros())
    .bind(step)
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    forget_recovery(tx, user).await?;
    for hash in recovery {
        sqlx::query("INSERT INTO recovery_codes (user_id, hash) VALUES ($1, $2)")
            .bind(user.as_str())
            .bind(hash.as_str())
            .execute(&mut **tx)
            .await?;
    }
    Ok(true)
}

/// Uses the code of a step up. `false`: it, or a later one, was used before.
pub async fn use_step(tx: &mut Tx<'_>, user: &UserId, step: i64) -> Outcome<bool> {
    let done =
        sqlx::query("UPDATE users SET totp_step = $2 WHERE id = $1 AND totp_step < $2 AND totp_since IS NOT NULL")
            .bind(user.as_str())
            .bind(step)
            .execute(&mut **tx)
            .await?;
    Ok(done.rows_affected() == 1)
}

/// Uses a recovery code up. `false`: there is none with this hash, or it was used.
pub async fn use_recovery(tx: &mut Tx<'_>, user: &UserId, hash: &str, now: Timestamp) -> Outcome<bool> {
    let done =
        sqlx::query("UPDATE recovery_codes SET used_at = $3 WHERE user_id = $1 AND hash = $2 AND used_at IS NULL")
            .bind(user.as_str())
            .bind(hash)
            .bind(now.micros())
            .execute(&mut **tx)
            .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes the second factor away. `false`: there was none.
pub async fn remove(tx: &mut Tx<'_>, user: &UserId) -> Outcome<bool> {
    forget_recovery(tx, user).await?;
    // `totp_step` stays: a code that was used is not good for a new factor either.
    let done =
        sqlx::query("UPDATE users SET totp_secret = NULL, totp_since = NULL WHERE id = $1 AND totp_secret IS NOT NULL")
            .bind(user.as_str())
            .execute(&mut **tx)
            .await?;
    Ok(done.rows_affected() == 1)
}

async fn forget_recovery(tx: &mut Tx<'_>, user: &UserId) -> Outcome<()> {
    sqlx::query("DELETE FROM recovery_codes WHERE user_id = $1").bind(user.as_str()).execute(&mut **tx).await?;
    Ok(())
}
