//! Members of an account. Its last owner stays.

use base::{AccountId, Timestamp, UserId};
use domain::rights::Role;
use sqlx::{AnyConnection, Row};

use crate::row::{parsed, time};
use crate::{Outcome, Tx};

/// Somebody who belongs to an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Belongs {
    /// Who.
    pub user: UserId,
    /// His name.
    pub name: String,
    /// His e-mail address.
    pub email: Option<String>,
    /// As what.
    pub role: Role,
    /// Since when; the epoch where that was not kept.
    pub since: Timestamp,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It is done.
    Done,
    /// He does not belong to the account, or no longer in that role.
    NotThere,
    /// He is the last owner.
    LastOwner,
}

/// Members of an account, by name.
pub async fn of(db: &mut AnyConnection, account: &AccountId) -> Outcome<Vec<Belongs>> {
    let rows = sqlx::query(
        "SELECT u.id AS id, u.name AS name, u.email AS email, m.role AS role, m.since AS since
         FROM members m JOIN users u ON u.id = m.user_id WHERE m.account_id = $1 ORDER BY u.name, u.id",
    )
    .bind(account.as_str())
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(Belongs {
                user: parsed(row, "id")?,
                name: row.try_get("name")?,
                email: row.try_get("email")?,
                role: parsed(row, "role")?,
                since: time(row, "since")?,
            })
        })
        .collect()
}

/// The role of a user in an account.
pub async fn role(db: &mut AnyConnection, account: &AccountId, user: &UserId) -> Outcome<Option<Role>> {
    let row = sqlx::query("SELECT role FROM members WHERE account_id = $1 AND user_id = $2")
        .bind(account.as_str())
        .bind(user.as_str())
        .fetch_optional(db)
        .await?;
    row.map(|row| parsed(&row, "role")).transpose()
}

/// Adds a member. `false`: he belongs to it already, and his role stays.
pub async fn add(tx: &mut Tx<'_>, account: &AccountId, user: &UserId, role: Role, now: Timestamp) -> Outcome<bool> {
    let done = sqlx::query(
        "INSERT INTO members (account_id, user_id, role, since) VALUES ($1, $2, $3, $4)
         ON CONFLICT (account_id, user_id) DO NOTHING",
    )
    .bind(account.as_str())
    .bind(user.as_str())
    .bind(role.as_str())
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Gives a member, who is `was` until now, another role.
pub async fn set_role(tx: &mut Tx<'_>, account: &AccountId, user: &UserId, was: Role, role: Role) -> Outcome<Changed> {
    in_turn(tx, account).await?;
    let done = sqlx::query(
        "UPDATE members SET role = $4 WHERE account_id = $1 AND user_id = $2 AND role = $3
            AND ($3 <> 'owner' OR $4 = 'owner' OR EXISTS (SELECT 1 FROM members o
                WHERE o.account_id = $1 AND o.role = 'owner' AND o.user_id <> $2))",
    )
    .bind(account.as_str())
    .bind(user.as_str())
    .bind(was.as_str())
    .bind(role.as_str())
    .execute(&mut **tx)
    .await?;
    changed(tx, account, user, was, done.rows_affected()).await
}

/// Takes a member, who is `was` until now, out of an account. API tokens of his for
/// this account alone and invitations that he made end with it.
pub async fn remove(
    tx: &mut Tx<'_>,
    account: &AccountId,
    user: &UserId,
    was: Role,
    now: Timestamp,
) -> Outcome<Changed> {
    in_turn(tx, account).await?;
    let done = sqlx::query(
        "DELETE FROM members WHERE account_id = $1 AND user_id = $2 AND role = $3
            AND ($3 <> 'owner' OR EXISTS (SELECT 1 FROM members o
                WHERE o.account_id = $1 AND o.role = 'owner' AND o.user_id <> $2))",
    )
    .bind(account.as_str())
    .bind(user.as_str())
    .bind(was.as_str())
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 1 {
        sqlx::query("DELETE FROM api_tokens WHERE user_id = $1 AND account_id = $2 AND instance_id IS NULL")
            .bind(user.as_str())
            .bind(account.as_str())
            .execute(&mut **tx)
            .await?;
        sqlx::query(
            "UPDATE invitations SET revoked_at = $3
             WHERE created_by = $1 AND account_id = $2 AND used_at IS NULL AND revoked_at IS NULL",
        )
        .bind(user.as_str())
        .bind(account.as_str())
        .bind(now.micros())
        .execute(&mut **tx)
        .await?;
    }
    changed(tx, account, user, was, done.rows_affected()).await
}

/// Two owners who take each other's place at one moment must not both succeed: on
/// PostgreSQL each would see the other still there.
async fn in_turn(tx: &mut Tx<'_>, account: &AccountId) -> Outcome<()> {
    sqlx::query("UPDATE accounts SET held = held WHERE id = $1").bind(account.as_str()).execute(&mut **tx).await?;
    Ok(())
}

async fn changed(tx: &mut Tx<'_>, account: &AccountId, user: &UserId, was: Role, rows: u64) -> Outcome<Changed> {
    if rows == 1 {
        return Ok(Changed::Done);
    }
    let now = role(tx, account, user).await?;
    Ok(if now == Some(was) { Changed::LastOwner } else { Changed::NotThere })
}
