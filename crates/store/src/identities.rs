//! Who is who at identity providers, and sign-ins that are under way there.

use base::{Timestamp, UserId};
use sqlx::{AnyConnection, Row};

use crate::row::parsed;
use crate::secrets::{FLOW, open};
use crate::{Outcome, Tx};

/// The user whom a provider calls `subject`.
pub async fn find(db: &mut AnyConnection, provider: &str, subject: &str) -> Outcome<Option<UserId>> {
    let row = sqlx::query("SELECT user_id FROM identities WHERE provider = $1 AND subject = $2")
        .bind(provider)
        .bind(subject)
        .fetch_optional(db)
        .await?;
    row.as_ref().map(|row| parsed(row, "user_id")).transpose()
}

/// Ids of the providers that know a user.
pub async fn providers(db: &mut AnyConnection, user: &UserId) -> Outcome<Vec<String>> {
    let rows = sqlx::query("SELECT DISTINCT provider FROM identities WHERE user_id = $1 ORDER BY provider")
        .bind(user.as_str())
        .fetch_all(db)
        .await?;
    rows.iter().map(|row| Ok(row.try_get("provider")?)).collect()
}

/// Says that a provider's `subject` is this user. `false`: he is somebody already.
pub async fn link(tx: &mut Tx<'_>, provider: &str, subject: &str, user: &UserId, now: Timestamp) -> Outcome<bool> {
    let done = sqlx::query(
        "INSERT INTO identities (provider, subject, user_id, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
    )
    .bind(provider)
    .bind(subject)
    .bind(user.as_str())
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Keeps what has to be known when the browser comes back from a provider.
pub async fn begin(
    tx: &mut Tx<'_>,
    provider: &str,
    state_hash: &str,
    data: &str,
    now: Timestamp,
    expires_at: Timestamp,
) -> Outcome<()> {
    let sealed = tx.sealed(FLOW, state_hash, data)?;
    sqlx::query("DELETE FROM oidc_flows WHERE expires_at <= $1").bind(now.micros()).execute(&mut **tx).await?;
    sqlx::query("INSERT INTO oidc_flows (state_hash, provider, data, expires_at) VALUES ($1, $2, $3, $4)")
        .bind(state_hash)
        .bind(provider)
        .bind(sealed)
        .bind(expires_at.micros())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Takes what was kept, once. `None`: nothing was, or it is too old.
pub async fn take(tx: &mut Tx<'_>, provider: &str, state_hash: &str, now: Timestamp) -> Outcome<Option<String>> {
    let row = sqlx::query(
        "DELETE FROM oidc_flows WHERE state_hash = $1 AND provider = $2 AND expires_at > $3 RETURNING data",
    )
    .bind(state_hash)
    .bind(provider)
    .bind(now.micros())
    .fetch_optional(&mut **tx)
    .await?;
    row.map(|row| Ok(open(FLOW, state_hash, row.try_get("data")?)?)).transpose()
}
