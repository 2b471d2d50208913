//! Users and their tokens.

use base::{AccountId, Timestamp, TokenId, UserId};
use sqlx::{AnyConnection, Row};

use crate::row::{parsed, time};
use crate::{Outcome, Tx};

/// Who signs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Id.
    pub id: UserId,
    /// Unique name.
    pub name: String,
    /// Whether this user operates the site.
    pub operator: bool,
}

/// A user's place in an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The account.
    pub account: AccountId,
    /// Its name.
    pub account_name: String,
    /// The role.
    pub role: String,
}

fn user(row: &sqlx::any::AnyRow) -> Outcome<User> {
    Ok(User { id: parsed(row, "id")?, name: row.try_get("name")?, operator: row.try_get::<i64, _>("operator")? == 1 })
}

/// Adds a user. `false`: the name is taken.
pub async fn insert(tx: &mut Tx<'_>, user: &User, password_hash: &str, now: Timestamp) -> Outcome<bool> {
    let done = sqlx::query(
        "INSERT INTO users (id, name, password_hash, operator, created_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (name) DO NOTHING",
    )
    .bind(user.id.as_str())
    .bind(user.name.as_str())
    .bind(password_hash)
    .bind(i64::from(user.operator))
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Whether there is any operator yet.
pub async fn any_operator(db: &mut AnyConnection) -> Outcome<bool> {
    let row = sqlx::query("SELECT COUNT(*) AS n FROM users WHERE operator = 1").fetch_one(db).await?;
    Ok(row.try_get::<i64, _>("n")? > 0)
}

/// The user of that name and his password hash.
pub async fn by_name(db: &mut AnyConnection, name: &str) -> Outcome<Option<(User, String)>> {
    let row = sqlx::query("SELECT id, name, operator, password_hash FROM users WHERE name = $1")
        .bind(name)
        .fetch_optional(db)
        .await?;
    row.map(|row| Ok((user(&row)?, row.try_get("password_hash")?))).transpose()
}

/// Replaces a password.
pub async fn set_password(tx: &mut Tx<'_>, id: &UserId, password_hash: &str) -> Outcome<()> {
    sqlx::query("UPDATE users SET password_hash = $1 WHERE id = $2")
        .bind(password_hash)
        .bind(id.as_str())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Puts a user into an account; an existing membership gets the new role.
pub async fn join(tx: &mut Tx<'_>, account: &AccountId, user: &UserId, role: &str) -> Outcome<()> {
    sqlx::query(
        "INSERT INTO members (account_id, user_id, role) VALUES ($1, $2, $3)
         ON CONFLICT (account_id, user_id) DO UPDATE SET role = excluded.role",
    )
    .bind(account.as_str())
    .bind(user.as_str())
    .bind(role)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The accounts that a user belongs to, by name.
pub async fn memberships(db: &mut AnyConnection, user: &UserId) -> Outcome<Vec<Member>> {
    let rows = sqlx::query(
        "SELECT a.id AS id, a.name AS name, m.role AS role FROM members m JOIN accounts a ON a.id = m.account_id
         WHERE m.user_id = $1 ORDER BY a.name",
    )
    .bind(user.as_str())
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(Member { account: parsed(row, "id")?, account_name: row.try_get("name")?, role: row.try_get("role")? })
        })
        .collect()
}

/// Adds a token; only the hash of its secret is kept.
pub async fn insert_token(
    tx: &mut Tx<'_>,
    id: &TokenId,
    owner: &UserId,
    hash: &str,
    name: &str,
    now: Timestamp,
    expires: Timestamp,
) -> Outcome<()> {
    sqlx::query("INSERT INTO tokens (id, user_id, hash, name, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)")
        .bind(id.as_str())
        .bind(owner.as_str())
        .bind(hash)
        .bind(name)
        .bind(now.micros())
        .bind(expires.micros())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Whose token this is, and when it ends.
pub async fn by_token(db: &mut AnyConnection, hash: &str) -> Outcome<Option<(User, Timestamp)>> {
    let row = sqlx::query(
        "SELECT u.id AS id, u.name AS name, u.operator AS operator, t.expires_at AS expires_at
         FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.hash = $1",
    )
    .bind(hash)
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok((user(&row)?, time(&row, "expires_at")?))).transpose()
}

/// Takes a token back.
pub async fn delete_token(tx: &mut Tx<'_>, hash: &str) -> Outcome<()> {
    sqlx::query("DELETE FROM tokens WHERE hash = $1").bind(hash).execute(&mut **tx).await?;
    Ok(())
}
