//! Bearer tokens: what a login, a browser or a program shows instead of a password.
//! Only hashes of their secrets are kept.

use base::{AccountId, Error, InstanceId, Timestamp, TokenId, UserId};
use domain::rights::Scope;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::row::{parsed, parsed_opt, time, time_opt, to_json};
use crate::users::{self, User, UserState};
use crate::words::words;
use crate::{Outcome, Tx};

words! {
    /// Where a session lives.
    SessionKind {
        /// In a file of the command line.
        Login = "login",
        /// In a browser.
        Cookie = "cookie",
    }
}

/// A signed-in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Id.
    pub id: TokenId,
    /// Where.
    pub kind: SessionKind,
    /// What its owner calls it.
    pub name: String,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when.
    pub expires_at: Timestamp,
    /// When it was last used, to the minute.
    pub used_at: Option<Timestamp>,
    /// From where it was made.
    pub address: Option<String>,
    /// With what program, as that says.
    pub agent: Option<String>,
}

/// A token for programs, with limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiToken {
    /// Id.
    pub id: TokenId,
    /// What its owner calls it.
    pub name: String,
    /// What it is limited to.
    pub limits: Limits,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when.
    pub expires_at: Timestamp,
    /// When it was last used, to the minute.
    pub used_at: Option<Timestamp>,
}

/// What a token is limited to, within the rights of its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Kinds of deeds.
    pub scopes: Vec<Scope>,
    /// Only this account.
    pub account: Option<AccountId>,
    /// Only what concerns this instance: the token is inside it.
    pub instance: Option<InstanceId>,
}

/// What a secret stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The token.
    pub id: TokenId,
    /// Whose it is.
    pub user: User,
    /// Whether he can be signed in.
    pub state: UserState,
    /// Until when.
    pub expires_at: Timestamp,
    /// When it was last used, to the minute.
    pub used_at: Option<Timestamp>,
    /// Where the session lives; `None` for an API token.
    pub session: Option<SessionKind>,
    /// What it is limited to; `None`: nothing.
    pub limits: Option<Limits>,
}

fn limits(row: &AnyRow) -> Outcome<Limits> {
    let scopes: String = row.try_get("scopes")?;
    Ok(Limits {
        scopes: serde_json::from_str(&scopes).map_err(Error::internal)?,
        account: parsed_opt(row, "account_id")?,
        instance: parsed_opt(row, "instance_id")?,
    })
}

/// What the secret with this hash stands for.
pub async fn by_hash(db: &mut AnyConnection, hash: &str) -> Outcome<Option<Found>> {
    let row = sqlx::query(
        "SELECT u.id AS id, u.name AS name, u.operator AS operator, u.operator_role AS operator_role,
            u.state AS state, t.id AS token_id, t.kind AS kind, t.expires_at AS expires_at, t.used_at AS used_at
         FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.hash = $1",
    )
    .bind(hash)
    .fetch_optional(&mut *db)
    .await?;
    if let Some(row) = row {
        let kind = parsed(&row, "kind")?;
        return found(&row, Some(kind), None).map(Some);
    }
    let row = sqlx::query(
        "SELECT u.id AS id, u.name AS name, u.operator AS operator, u.operator_role AS operator_role,
            u.state AS state, t.id AS token_id, t.expires_at AS expires_at, t.used_at AS used_at,
            t.scopes AS scopes, t.account_id AS account_id, t.instance_id AS instance_id
         FROM api_tokens t JOIN users u ON u.id = t.user_id WHERE t.hash = $1",
    )
    .bind(hash)
    .fetch_optional(db)
    .await?;
    row.map(|row| found(&row, None, Some(limits(&row)?))).transpose()
}

fn found(row: &AnyRow, session: Option<SessionKind>, limits: Option<Limits>) -> Outcome<Found> {
    Ok(Found {
        id: parsed(row, "token_id")?,
        user: users::user(row)?,
        state: parsed(row, "state")?,
        expires_at: time(row, "expires_at")?,
        used_at: time_opt(row, "used_at")?,
        session,
        limits,
    })
}

/// Adds a session.
pub async fn insert(tx: &mut Tx<'_>, owner: &UserId, session: &Session, hash: &str) -> Outcome<()> {
    sqlx::query(
        "INSERT INTO tokens (id, user_id, hash, kind, name, created_at, expires_at, address, agent)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(session.id.as_str())
    .bind(owner.as_str())
    .bind(hash)
    .bind(session.kind.as_str())
    .bind(session.name.as_str())
    .bind(session.created_at.micros())
    .bind(session.expires_at.micros())
    .bind(session.address.as_deref())
    .bind(session.agent.as_deref())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Sessions of a user, newest first.
pub async fn sessions(db: &mut AnyConnection, owner: &UserId) -> Outcome<Vec<Session>> {
    let rows = sqlx::query(
        "SELECT id, kind, name, created_at, expires_at, used_at, address, agent FROM tokens
         WHERE user_id = $1 ORDER BY id DESC LIMIT 200",
    )
    .bind(owner.as_str())
    .fetch_all(db)
    .await?;
    let session = |row: &AnyRow| {
        Ok(Session {
            id: parsed(row, "id")?,
            kind: parsed(row, "kind")?,
            name: row.try_get("name")?,
            created_at: time(row, "created_at")?,
            expires_at: time(row, "expires_at")?,
            used_at: time_opt(row, "used_at")?,
            address: row.try_get("address")?,
            agent: row.try_get("agent")?,
        })
    };
    rows.iter().map(session).collect()
}

/// Ends a session. `false`: the user has no such session.
pub async fn end(tx: &mut Tx<'_>, owner: &UserId, id: &TokenId) -> Outcome<bool> {
    let done = sqlx::query("DELETE FROM tokens WHERE id = $1 AND user_id = $2")
        .bind(id.as_str())
        .bind(owner.as_str())
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends every session of a user but this one; how many those were.
pub async fn end_all(tx: &mut Tx<'_>, owner: &UserId, but: Option<&TokenId>) -> Outcome<u64> {
    let done = sqlx::query("DELETE FROM tokens WHERE user_id = $1 AND id <> $2")
        .bind(owner.as_str())
        .bind(but.map_or("", TokenId::as_str))
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected())
}

/// Takes every API token of a user back; how many those were. Those inside instances stay.
pub async fn end_all_api(tx: &mut Tx<'_>, owner: &UserId) -> Outcome<u64> {
    let done = sqlx::query("DELETE FROM api_tokens WHERE user_id = $1 AND instance_id IS NULL")
        .bind(owner.as_str())
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected())
}

/// Adds an API token.
pub async fn insert_api(tx: &mut Tx<'_>, owner: &UserId, token: &ApiToken, hash: &str) -> Outcome<()> {
    sqlx::query(
        "INSERT INTO api_tokens (id, user_id, hash, name, scopes, account_id, instance_id, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(token.id.as_str())
    .bind(owner.as_str())
    .bind(hash)
    .bind(token.name.as_str())
    .bind(to_json(&token.limits.scopes)?)
    .bind(token.limits.account.as_ref().map(AccountId::as_str))
    .bind(token.limits.instance.as_ref().map(InstanceId::as_str))
    .bind(token.created_at.micros())
    .bind(token.expires_at.micros())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// API tokens of a user, newest first; those inside instances are not his to see.
pub async fn api_tokens(db: &mut AnyConnection, owner: &UserId) -> Outcome<Vec<ApiToken>> {
    let rows = sqlx::query(
        "SELECT id, name, scopes, account_id, instance_id, created_at, expires_at, used_at FROM api_tokens
         WHERE user_id = $1 AND instance_id IS NULL ORDER BY id DESC LIMIT 200",
    )
    .bind(owner.as_str())
    .fetch_all(db)
    .await?;
    let token = |row: &AnyRow| {
        Ok(ApiToken {
            id: parsed(row, "id")?,
            name: row.try_get("name")?,
            limits: limits(row)?,
            created_at: time(row, "created_at")?,
            expires_at: time(row, "expires_at")?,
            used_at: time_opt(row, "used_at")?,
        })
    };
    rows.iter().map(token).collect()
}

/// Takes an API token back. `false`: the user has no such token.
pub async fn delete_api(tx: &mut Tx<'_>, owner: &UserId, id: &TokenId) -> Outcome<bool> {
    let done = sqlx::query("DELETE FROM api_tokens WHERE id = $1 AND user_id = $2 AND instance_id IS NULL")
        .bind(id.as_str())
        .bind(owner.as_str())
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes that a token was used, and with a session that its owner was here.
pub async fn used(tx: &mut Tx<'_>, id: &TokenId, now: Timestamp) -> Outcome<()> {
    for sql in [
        "UPDATE tokens SET used_at = $2 WHERE id = $1",
        "UPDATE api_tokens SET used_at = $2 WHERE id = $1",
        // A program is not he himself.
        "UPDATE users SET seen_at = $2 WHERE id IN (SELECT user_id FROM tokens WHERE id = $1)",
    ] {
        sqlx::query(sql).bind(id.as_str()).bind(now.micros()).execute(&mut **tx).await?;
    }
    Ok(())
}

/// Number of a user's API tokens, without those inside instances.
pub async fn count_api(db: &mut AnyConnection, owner: &UserId) -> Outcome<i64> {
    let row = sqlx::query("SELECT COUNT(*) AS n FROM api_tokens WHERE user_id = $1 AND instance_id IS NULL")
        .bind(owner.as_str())
        .fetch_one(db)
        .await?;
    Ok(row.try_get("n")?)
}
