//! The same request sent twice is done once.

use base::{Cause, Error, Timestamp, UserId};
use sqlx::{AnyConnection, Row};

use crate::{Fault, Outcome, Tx};

/// What an idempotency key says about a request.
#[derive(Clone, Debug)]
pub struct Key {
    /// Whose key.
    pub user: UserId,
    /// The key.
    pub key: String,
    /// Method, path and hash of the body.
    pub request: String,
}

/// The stored answer of an earlier request with this key.
///
/// # Errors
/// `idempotency-mismatch` when the earlier request was another one.
pub async fn earlier(db: &mut AnyConnection, key: &Key) -> Outcome<Option<String>> {
    let row = sqlx::query("SELECT request, response FROM idempotency WHERE user_id = $1 AND key = $2")
        .bind(key.user.as_str())
        .bind(key.key.as_str())
        .fetch_optional(db)
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    if row.try_get::<String, _>("request")? != key.request {
        return Err(Error::new(Cause::IdempotencyMismatch, "this idempotency key was used for another request")
            .hint("use a fresh key for each request, and the same key only to repeat it")
            .into());
    }
    Ok(Some(row.try_get("response")?))
}

/// Stores the answer in the transaction that did the work.
///
/// # Errors
/// Another request with this key was done at the same moment: the transaction
/// is rolled back and tried again, which finds its answer.
pub async fn remember(tx: &mut Tx<'_>, key: &Key, response: &str, now: Timestamp) -> Outcome<()> {
    let done = sqlx::query(
        "INSERT INTO idempotency (user_id, key, request, response, created_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (user_id, key) DO NOTHING",
    )
    .bind(key.user.as_str())
    .bind(key.key.as_str())
    .bind(key.request.as_str())
    .bind(response)
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 0 {
        return Err(Fault::Again(
            Error::new(Cause::Unavailable, "the same request is being done right now")
                .hint("repeat it in a moment with the same idempotency key"),
        ));
    }
    Ok(())
}
