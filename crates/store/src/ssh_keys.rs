//! SSH public keys of users.

use base::{KeyId, Timestamp, UserId};
use sqlx::{AnyConnection, Row};

use crate::row::{parsed, time};
use crate::{Outcome, Tx};

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshKey {
    /// Id.
    pub id: KeyId,
    /// What its owner calls it.
    pub name: String,
    /// `SHA256:…` as OpenSSH prints it.
    pub fingerprint: String,
    /// One line as in `authorized_keys`, without options.
    pub key: String,
    /// Since when.
    pub created_at: Timestamp,
}

/// Adds a key if its owner has fewer than `most`. `false`: he has this key already.
/// `None`: he has too many.
pub async fn insert(tx: &mut Tx<'_>, owner: &UserId, key: &SshKey, most: i64) -> Outcome<Option<bool>> {
    let done = sqlx::query(
        "INSERT INTO ssh_keys (id, user_id, name, fingerprint, key, created_at)
         SELECT $1, $2, $3, $4, $5, $6 FROM users u
         WHERE u.id = $2 AND (SELECT COUNT(*) FROM ssh_keys k WHERE k.user_id = $2) < $7
         ON CONFLICT (user_id, fingerprint) DO NOTHING",
    )
    .bind(key.id.as_str())
    .bind(owner.as_str())
    .bind(key.name.as_str())
    .bind(key.fingerprint.as_str())
    .bind(key.key.as_str())
    .bind(key.created_at.micros())
    .bind(most)
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 1 {
        return Ok(Some(true));
    }
    let there = sqlx::query("SELECT id FROM ssh_keys WHERE user_id = $1 AND fingerprint = $2")
        .bind(owner.as_str())
        .bind(key.fingerprint.as_str())
        .fetch_optional(&mut **tx)
        .await?;
    Ok(there.map(|_| false))
}

/// Keys of a user, newest first.
pub async fn of(db: &mut AnyConnection, owner: &UserId) -> Outcome<Vec<SshKey>> {
    let rows = sqlx::query(
        "SELECT id, name, fingerprint, key, created_at FROM ssh_keys WHERE user_id = $1 ORDER BY id DESC LIMIT 200",
    )
    .bind(owner.as_str())
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(SshKey {
                id: parsed(row, "id")?,
                name: row.try_get("name")?,
                fingerprint: row.try_get("fingerprint")?,
                key: row.try_get("key")?,
                created_at: time(row, "created_at")?,
            })
        })
        .collect()
}

/// Removes a key; its fingerprint. `None`: the user has no such key.
pub async fn delete(tx: &mut Tx<'_>, owner: &UserId, id: &KeyId) -> Outcome<Option<String>> {
    let row = sqlx::query("DELETE FROM ssh_keys WHERE id = $1 AND user_id = $2 RETURNING fingerprint")
        .bind(id.as_str())
        .bind(owner.as_str())
        .fetch_optional(&mut **tx)
        .await?;
    row.map(|row| Ok(row.try_get("fingerprint")?)).transpose()
}
