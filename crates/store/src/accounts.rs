//! Accounts, their balance and what they promised to running instances.

use base::{AccountId, InstanceId, Money, Timestamp};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::row::{money, parsed, time, time_opt};
use crate::{Outcome, Tx};

/// Who pays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Id.
    pub id: AccountId,
    /// Unique name.
    pub name: String,
    /// Currency of all its amounts.
    pub currency: String,
    /// IANA time zone of its months.
    pub time_zone: String,
    /// Posted money.
    pub balance: Money,
    /// Sum of its holds.
    pub held: Money,
    /// When the money guard looks again.
    pub due_at: Option<Timestamp>,
    /// Last rung of the money ladder that was told.
    pub rung: i64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// By name: a column that a newer server adds must not change what a prepared
/// statement of this one returns.
macro_rules! columns {
    () => {
        "id, name, currency, time_zone, balance, held, due_at, rung, created_at"
    };
}

fn account(row: &AnyRow) -> Outcome<Account> {
    Ok(Account {
        id: parsed(row, "id")?,
        name: row.try_get("name")?,
        currency: row.try_get("currency")?,
        time_zone: row.try_get("time_zone")?,
        balance: money(row, "balance")?,
        held: money(row, "held")?,
        due_at: time_opt(row, "due_at")?,
        rung: row.try_get("rung")?,
        created_at: time(row, "created_at")?,
    })
}

/// Adds an account without money. `false`: the name is taken.
pub async fn insert(tx: &mut Tx<'_>, account: &Account) -> Outcome<bool> {
    let done = sqlx::query(
        "INSERT INTO accounts (id, name, currency, time_zone, balance, held, created_at)
         VALUES ($1, $2, $3, $4, 0, 0, $5) ON CONFLICT (name) DO NOTHING",
    )
    .bind(account.id.as_str())
    .bind(account.name.as_str())
    .bind(account.currency.as_str())
    .bind(account.time_zone.as_str())
    .bind(account.created_at.micros())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// One account.
pub async fn get(db: &mut AnyConnection, id: &AccountId) -> Outcome<Option<Account>> {
    let row = sqlx::query(concat!("SELECT ", columns!(), " FROM accounts WHERE id = $1"))
        .bind(id.as_str())
        .fetch_optional(db)
        .await?;
    row.as_ref().map(account).transpose()
}

/// The account of that id or name.
pub async fn find(db: &mut AnyConnection, reference: &str) -> Outcome<Option<Account>> {
    let row = sqlx::query(concat!("SELECT ", columns!(), " FROM accounts WHERE id = $1 OR name = $1"))
        .bind(reference)
        .fetch_optional(db)
        .await?;
    row.as_ref().map(account).transpose()
}

/// All accounts by name.
pub async fn list(db: &mut AnyConnection) -> Outcome<Vec<Account>> {
    sqlx::query(concat!("SELECT ", columns!(), " FROM accounts ORDER BY name"))
        .fetch_all(db)
        .await?
        .iter()
        .map(account)
        .collect()
}

/// Promises `amount` to an instance if what is left covers it: `used` is what
/// running instances have used beyond what is posted. `false`: it does not.
pub async fn hold(tx: &mut Tx<'_>, id: &AccountId, instance: &InstanceId, amount: Money, used: Money) -> Outcome<bool> {
    let done = sqlx::query("UPDATE accounts SET held = held + $2 WHERE id = $1 AND balance - held - $3 >= $2")
        .bind(id.as_str())
        .bind(amount.micros())
        .bind(used.micros())
        .execute(&mut **tx)
        .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    sqlx::query("INSERT INTO holds (instance_id, account_id, amount) VALUES ($1, $2, $3)")
        .bind(instance.as_str())
        .bind(id.as_str())
        .bind(amount.micros())
        .execute(&mut **tx)
        .await?;
    Ok(true)
}

/// Gives back what was promised to an instance. Repeating it changes nothing:
/// the deleted row is the permission to lower the sum.
pub async fn unhold(tx: &mut Tx<'_>, instance: &InstanceId) -> Outcome<()> {
    let row = sqlx::query("DELETE FROM holds WHERE instance_id = $1 RETURNING account_id, amount")
        .bind(instance.as_str())
        .fetch_optional(&mut **tx)
        .await?;
    if let Some(row) = row {
        sqlx::query("UPDATE accounts SET held = held - $2 WHERE id = $1")
            .bind(row.try_get::<String, _>("account_id")?)
            .bind(row.try_get::<i64, _>("amount")?)
            .execute(&mut **tx)
            .await?;
    }
    Ok(())
}

/// Makes the money guard look at the account at once, because its balance or
/// what runs on it has changed.
pub async fn nudge(tx: &mut Tx<'_>, id: &AccountId, now: Timestamp) -> Outcome<()> {
    sqlx::query("UPDATE accounts SET due_at = $2, lease_until = 0, lease_token = NULL WHERE id = $1")
        .bind(id.as_str())
        .bind(now.micros())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// The money guard's result, if it still holds the lease: when to look again and
/// the rung that was told. `false`: somebody changed the account meanwhile.
pub async fn guarded(
    tx: &mut Tx<'_>,
    id: &AccountId,
    token: &str,
    due_at: Option<Timestamp>,
    rung: i64,
) -> Outcome<bool> {
    let done = sqlx::query(
        "UPDATE accounts SET due_at = $3, rung = $4, lease_token = NULL, lease_until = 0
         WHERE id = $1 AND lease_token = $2",
    )
    .bind(id.as_str())
    .bind(token)
    .bind(due_at.map(Timestamp::micros))
    .bind(rung)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}
