//! Claiming due objects, so that any number of servers share the work.
//!
//! A claim writes a token and an end into the row. Whoever applies a result
//! names the token; when the row has another one, somebody took over and the
//! result is dropped.

use base::{Span, Timestamp};
use sqlx::{AnyConnection, Row};

use crate::{Dialect, Outcome, Tx};

/// How long a claim lasts unless it is renewed. What a dead or frozen server held
/// waits so long for another; a living one renews while a step takes longer.
pub const LEASE: Span = Span::from_secs(10);

/// What is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Instances that have to move on.
    Instances,
    /// Closed segments that have to be posted.
    Segments,
    /// Accounts whose money has to be looked at.
    Accounts,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Instances, Self::Segments, Self::Accounts];

    /// The word for it in logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Instances => "instances",
            Self::Segments => "segments",
            Self::Accounts => "accounts",
        }
    }
}

/// Permission to move one object on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Id of the object.
    pub id: String,
    /// Names this claim.
    pub token: String,
}

macro_rules! claim_sql {
    ($table:literal, $lock:literal) => {
        concat!(
            "WITH due AS MATERIALIZED (SELECT id FROM ",
            $table,
            " WHERE due_at <= $1 AND lease_until < $2 ",
            // A site that is being recovered moves nothing until an operator has seen it.
            "AND NOT EXISTS (SELECT 1 FROM site WHERE key = 'recovery') ORDER BY due_at LIMIT $3 ",
            $lock,
            ") ",
            "UPDATE ",
            $table,
            " SET lease_token = $4, lease_until = $5 FROM due WHERE ",
            $table,
            ".id = due.id AND ",
            $table,
            ".lease_until < $2 RETURNING ",
            $table,
            ".id AS id"
        )
    };
}

const fn claim_sql(kind: Kind, dialect: Dialect) -> &'static str {
    match (kind, dialect) {
        (Kind::Instances, Dialect::Sqlite) => claim_sql!("instances", ""),
        (Kind::Segments, Dialect::Sqlite) => claim_sql!("segments", ""),
        (Kind::Accounts, Dialect::Sqlite) => claim_sql!("accounts", ""),
        (Kind::Instances, Dialect::Postgres) => claim_sql!("instances", "FOR UPDATE SKIP LOCKED"),
        (Kind::Segments, Dialect::Postgres) => claim_sql!("segments", "FOR UPDATE SKIP LOCKED"),
        (Kind::Accounts, Dialect::Postgres) => claim_sql!("accounts", "FOR UPDATE SKIP LOCKED"),
    }
}

/// The clock that leases are measured with: the database's where several servers
/// share one, the caller's own where it is alone.
pub(crate) async fn lease_now(tx: &mut Tx<'_>, now: Timestamp) -> Outcome<Timestamp> {
    if tx.dialect() == Dialect::Sqlite {
        return Ok(now);
    }
    let row = sqlx::query("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) AS now")
        .fetch_one(&mut **tx)
        .await?;
    Ok(Timestamp::from_micros(row.try_get("now")?))
}

/// Claims at most `limit` objects that are due at `now`, longest due first.
pub async fn claim(tx: &mut Tx<'_>, kind: Kind, now: Timestamp, limit: i64) -> Outcome<Vec<Lease>> {
    let clock = lease_now(tx, now).await?;
    let token = format!("{:032x}", tx.random());
    let rows = sqlx::query(claim_sql(kind, tx.dialect()))
        .bind(now.micros())
        .bind(clock.micros())
        .bind(limit)
        .bind(token.as_str())
        .bind(clock.after(LEASE).micros())
        .fetch_all(&mut **tx)
        .await?;
    rows.iter().map(|row| Ok(Lease { id: row.try_get("id")?, token: token.clone() })).collect()
}

macro_rules! renew_sql {
    ($table:literal) => {
        concat!("UPDATE ", $table, " SET lease_until = $3 WHERE id = $1 AND lease_token = $2 AND lease_until >= $4")
    };
}

/// Makes sure that the lease still holds and lets it last for `LEASE` from now:
/// to be asked before anything outside the database is changed. `false`: it is lost.
pub async fn renew(tx: &mut Tx<'_>, kind: Kind, lease: &Lease, now: Timestamp) -> Outcome<bool> {
    let clock = lease_now(tx, now).await?;
    let sql = match kind {
        Kind::Instances => renew_sql!("instances"),
        Kind::Segments => renew_sql!("segments"),
        Kind::Accounts => renew_sql!("accounts"),
    };
    let done = sqlx::query(sql)
        .bind(lease.id.as_str())
        .bind(lease.token.as_str())
        .bind(clock.after(LEASE).micros())
        .bind(clock.micros())
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Gives a claim back without a result: the object can be claimed again at once.
pub async fn give_back(tx: &mut Tx<'_>, kind: Kind, lease: &Lease, now: Timestamp) -> Outcome<()> {
    let clock = lease_now(tx, now).await?;
    let sql = match kind {
        Kind::Instances => renew_sql!("instances"),
        Kind::Segments => renew_sql!("segments"),
        Kind::Accounts => renew_sql!("accounts"),
    };
    sqlx::query(sql)
        .bind(lease.id.as_str())
        .bind(lease.token.as_str())
        .bind(0)
        .bind(clock.micros())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Ends every claim, where this server is the only one there can be: whatever is
/// claimed was claimed by a server before it. Its results would still be dropped,
/// as the next claim brings another token. Nothing happens on a database that
/// servers share.
pub async fn take_back(tx: &mut Tx<'_>) -> Outcome<()> {
    if tx.dialect() != Dialect::Sqlite {
        return Ok(());
    }
    for kind in Kind::ALL {
        let sql = match kind {
            Kind::Instances => "UPDATE instances SET lease_until = 0 WHERE due_at IS NOT NULL AND lease_until > 0",
            Kind::Segments => "UPDATE segments SET lease_until = 0 WHERE due_at IS NOT NULL AND lease_until > 0",
            Kind::Accounts => "UPDATE accounts SET lease_until = 0 WHERE due_at IS NOT NULL AND lease_until > 0",
        };
        sqlx::query(sql).execute(&mut **tx).await?;
    }
    Ok(())
}

/// What waits, for the metrics and for sleeping exactly as long as nothing is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// When the next object becomes due.
    pub next_due: Option<Timestamp>,
    /// How many are due at the moment asked for.
    pub due: i64,
}

/// The state of a queue at `now`.
pub async fn queue(db: &mut AnyConnection, kind: Kind, now: Timestamp) -> Outcome<Queue> {
    macro_rules! sql {
        ($table:literal) => {
            concat!(
                "SELECT (SELECT MIN(due_at) FROM ",
                $table,
                " WHERE due_at IS NOT NULL) AS next_due, ",
                "(SELECT COUNT(*) FROM ",
                $table,
                " WHERE due_at <= $1) AS due"
            )
        };
    }
    let sql = match kind {
        Kind::Instances => sql!("instances"),
        Kind::Segments => sql!("segments"),
        Kind::Accounts => sql!("accounts"),
    };
    let row = sqlx::query(sql).bind(now.micros()).fetch_one(db).await?;
    let next: Option<i64> = row.try_get("next_due")?;
    Ok(Queue { next_due: next.map(Timestamp::from_micros), due: row.try_get("due")? })
}
