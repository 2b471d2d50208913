//! Invitations into accounts, or to sign up with an account of one's own. Only
//! hashes of their secrets are kept.

use base::{AccountId, InvitationId, Money, Timestamp, UserId};
use domain::rights::Role;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::row::{money, parsed, parsed_opt, time, time_opt};
use crate::{Outcome, Tx};

/// An invitation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Id.
    pub id: InvitationId,
    /// Into this account; `None`: to sign up with an account of one's own.
    pub account: Option<AccountId>,
    /// Its name.
    pub into: Option<String>,
    /// As what.
    pub role: Role,
    /// For whom, in lower case; `None`: for whoever has the secret.
    pub email: Option<String>,
    /// Name of the account of one's own.
    pub account_name: Option<String>,
    /// What is in it at the beginning.
    pub credit: Money,
    /// Who invites.
    pub created_by: UserId,
    /// His name.
    pub by: String,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when.
    pub expires_at: Timestamp,
    /// When it was accepted.
    pub used_at: Option<Timestamp>,
    /// When it was taken back.
    pub revoked_at: Option<Timestamp>,
}

impl Invitation {
    /// Whether it can be accepted at a moment.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.used_at.is_none() && self.revoked_at.is_none() && now < self.expires_at
    }
}

macro_rules! select {
    () => {
        "SELECT i.id AS id, i.account_id AS account_id, a.name AS into_name, i.role AS role, i.email AS email,
            i.account_name AS account_name, i.credit AS credit, i.created_by AS created_by, u.name AS by_name,
            i.created_at AS created_at, i.expires_at AS expires_at, i.used_at AS used_at, i.revoked_at AS revoked_at
         FROM invitations i JOIN users u ON u.id = i.created_by LEFT JOIN accounts a ON a.id = i.account_id "
    };
}

fn invitation(row: &AnyRow) -> Outcome<Invitation> {
    Ok(Invitation {
        id: parsed(row, "id")?,
        account: parsed_opt(row, "account_id")?,
        into: row.try_get("into_name")?,
        role: parsed(row, "role")?,
        email: row.try_get("email")?,
        account_name: row.try_get("account_name")?,
        credit: money(row, "credit")?,
        created_by: parsed(row, "created_by")?,
        by: row.try_get("by_name")?,
        created_at: time(row, "created_at")?,
        expires_at: time(row, "expires_at")?,
        used_at: time_opt(row, "used_at")?,
        revoked_at: time_opt(row, "revoked_at")?,
    })
}

/// Adds an invitation.
pub async fn insert(tx: &mut Tx<'_>, i: &Invitation, hash: &str) -> Outcome<()> {
    sqlx::query(
        "INSERT INTO invitations (id, hash, account_id, role, email, account_name, credit, created_by, created_at,
            expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(i.id.as_str())
    .bind(hash)
    .bind(i.account.as_ref().map(AccountId::as_str))
    .bind(i.role.as_str())
    .bind(i.email.as_deref())
    .bind(i.account_name.as_deref())
    .bind(i.credit.micros())
    .bind(i.created_by.as_str())
    .bind(i.created_at.micros())
    .bind(i.expires_at.micros())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The invitation whose secret has this hash, open or not.
pub async fn by_hash(db: &mut AnyConnection, hash: &str) -> Outcome<Option<Invitation>> {
    let row = sqlx::query(concat!(select!(), "WHERE i.hash = $1")).bind(hash).fetch_optional(db).await?;
    row.as_ref().map(invitation).transpose()
}

/// One invitation, open or not.
pub async fn get(db: &mut AnyConnection, id: &InvitationId) -> Outcome<Option<Invitation>> {
    let row = sqlx::query(concat!(select!(), "WHERE i.id = $1")).bind(id.as_str()).fetch_optional(db).await?;
    row.as_ref().map(invitation).transpose()
}

/// Open invitations into an account, or (`None`) to sign up with an account of one's
/// own, newest first.
pub async fn open(db: &mut AnyConnection, account: Option<&AccountId>, now: Timestamp) -> Outcome<Vec<Invitation>> {
    let rows = sqlx::query(concat!(
        select!(),
        "WHERE COALESCE(i.account_id, '') = $1 AND i.used_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > $2
         ORDER BY i.id DESC LIMIT 500"
    ))
    .bind(account.map_or("", AccountId::as_str))
    .bind(now.micros())
    .fetch_all(db)
    .await?;
    rows.iter().map(invitation).collect()
}

/// Accepts an invitation, once. `false`: it was used, taken back or has run out.
pub async fn use_up(tx: &mut Tx<'_>, id: &InvitationId, by: &UserId, now: Timestamp) -> Outcome<bool> {
    let done = sqlx::query(
        "UPDATE invitations SET used_at = $3, used_by = $2
         WHERE id = $1 AND used_at IS NULL AND revoked_at IS NULL AND expires_at > $3",
    )
    .bind(id.as_str())
    .bind(by.as_str())
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes an invitation back. `false`: it is not open any more.
pub async fn revoke(tx: &mut Tx<'_>, id: &InvitationId, now: Timestamp) -> Outcome<bool> {
    let done =
        sqlx::query("UPDATE invitations SET revoked_at = $2 WHERE id = $1 AND used_at IS NULL AND revoked_at IS NULL")
            .bind(id.as_str())
            .bind(now.micros())
            .execute(&mut **tx)
            .await?;
    Ok(done.rows_affected() == 1)
}
