//! Settling many closed segments in one transaction, with a few statements for
//! all of them instead of several for each.
//!
//! No lease is taken: nothing outside the database happens between the look and
//! the commit, and the rows stay locked meanwhile. What somebody has leased is
//! left to him.

use std::collections::BTreeMap;

use base::{AccountId, Cause, Error, Money, PostingId, SegmentId, Timestamp};
use billing::ledger::{Book, Posting, effect};

use crate::row::time;
use crate::segments::{self, Segment};
use crate::{Dialect, Outcome, Tx, lease};

/// Most segments of one transaction: others of the same moment wait behind it on SQLite.
pub const MOST: usize = 256;

/// A segment that waits to be settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The segment.
    pub segment: Segment,
    /// How far the evidence of its node reaches.
    pub proven_until: Timestamp,
}

/// What a look at a segment has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The segment.
    pub id: SegmentId,
    /// What is posted of it now.
    pub posted: Money,
    /// Up to which moment that is.
    pub until: Timestamp,
    /// When to look again; `None`: never.
    pub due_at: Option<Timestamp>,
}

/// At most [`MOST`] segments that are due at `now` and nobody's, longest due
/// first, locked for the rest of the transaction.
pub async fn waiting(tx: &mut Tx<'_>, now: Timestamp) -> Outcome<Vec<Waiting>> {
    macro_rules! sql {
        ($lock:literal) => {
            concat!(
                "SELECT s.id, s.instance_id, s.account_id, s.node_id, s.generation, s.kind, s.rate, s.price_version,
                    s.plan, s.from_at, s.to_at, s.posted, s.evidence, s.closed_by, s.devices, s.due_at,
                    n.proven_until AS proven_until FROM segments s JOIN nodes n ON n.id = s.node_id
                 WHERE s.due_at <= $1 AND s.lease_until < $2 AND NOT EXISTS (SELECT 1 FROM site WHERE key = 'recovery')
                 ORDER BY s.due_at LIMIT $3 ",
                $lock
            )
        };
    }
    let sql = match tx.dialect() {
        Dialect::Sqlite => sql!(""),
        Dialect::Postgres => sql!("FOR UPDATE OF s SKIP LOCKED"),
    };
    let clock = lease::lease_now(tx, now).await?;
    let rows = sqlx::query(sql)
        .bind(now.micros())
        .bind(clock.micros())
        .bind(i64::try_from(MOST).unwrap_or(i64::MAX))
        .fetch_all(&mut **tx)
        .await?;
    rows.iter()
        .map(|row| Ok(Waiting { segment: segments::segment(row)?, proven_until: time(row, "proven_until")? }))
        .collect()
}

/// Enters postings, moves the balances that they touch, makes the money guard
/// look at these accounts, and writes the segments down. The segments must have
/// come from [`waiting`] in this transaction.
///
/// # Errors
/// `internal` when a posting's cause was posted before; nothing is changed then.
pub async fn write(
    tx: &mut Tx<'_>,
    postings: &[(AccountId, Posting)],
    settled: &[Settled],
    now: Timestamp,
) -> Outcome<()> {
    if !postings.is_empty() {
        enter(tx, postings).await?;
        move_balances(tx, postings, now).await?;
    }
    if !settled.is_empty() {
        write_segments(tx, settled).await?;
    }
    Ok(())
}

async fn enter(tx: &mut Tx<'_>, postings: &[(AccountId, Posting)]) -> Outcome<()> {
    let sql = format!(
        "INSERT INTO postings (id, debit, credit, amount, kind, cause, at, account_id, segment_id, price_version)
         VALUES {} ON CONFLICT (cause) DO NOTHING",
        places(tx.dialect(), 1, postings.len(), 10)
    );
    let mut query = sqlx::query(sqlx::AssertSqlSafe(sql)).persistent(is_usual(postings.len()));
    for (account, posting) in postings {
        let posting = posting.clone().checked()?;
        query = query
            .bind(PostingId::new(posting.at, tx.random()).to_string())
            .bind(posting.debit.to_string())
            .bind(posting.credit.to_string())
            .bind(posting.amount.micros())
            .bind(posting.kind.as_str())
            .bind(posting.cause)
            .bind(posting.at.micros())
            .bind(account.as_str())
            .bind(posting.segment.map(String::from))
            .bind(posting.price_version);
    }
    let entered = query.execute(&mut **tx).await?.rows_affected();
    if usize::try_from(entered).is_ok_and(|entered| entered == postings.len()) {
        return Ok(());
    }
    Err(Error::internal(format!("of {} charges only {entered} were new", postings.len())).into())
}

async fn move_balances(tx: &mut Tx<'_>, postings: &[(AccountId, Posting)], now: Timestamp) -> Outcome<()> {
    let mut changes: BTreeMap<&AccountId, i64> = BTreeMap::new();
    for (account, posting) in postings {
        let change = changes.entry(account).or_default();
        *change = change
            .checked_add(effect(posting, &Book::Balance(account.clone())))
            .ok_or_else(|| Error::new(Cause::InvalidAmount, "the charges of an account add up to too much"))?;
    }
    if tx.dialect() == Dialect::Postgres {
        // In key order, which the update below does not promise: two of these cannot deadlock.
        let sql = format!(
            "SELECT id FROM accounts WHERE id IN ({}) ORDER BY id FOR UPDATE",
            places(tx.dialect(), 1, changes.len(), 1)
        );
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql)).persistent(is_usual(changes.len()));
        for account in changes.keys() {
            query = query.bind(account.as_str());
        }
        query.fetch_all(&mut **tx).await?;
    }
    // Without names of its own, a list of values has columns of these names on both databases.
    let sql = format!(
        "UPDATE accounts SET balance = balance + v.column2, due_at = {}, lease_until = 0, lease_token = NULL
         FROM (VALUES {}) AS v WHERE accounts.id = v.column1",
        place(tx.dialect(), 1),
        places(tx.dialect(), 2, changes.len(), 2)
    );
    let mut query = sqlx::query(sqlx::AssertSqlSafe(sql)).persistent(is_usual(changes.len())).bind(now.micros());
    for (account, change) in &changes {
        query = query.bind(account.as_str()).bind(*change);
    }
    query.execute(&mut **tx).await?;
    Ok(())
}

async fn write_segments(tx: &mut Tx<'_>, settled: &[Settled]) -> Outcome<()> {
    let sql = format!(
        "UPDATE segments SET posted = v.column2, posted_to = v.column3, due_at = v.column4, lease_token = NULL,
            lease_until = 0
         FROM (VALUES {}) AS v WHERE segments.id = v.column1",
        places(tx.dialect(), 1, settled.len(), 4)
    );
    let mut query = sqlx::query(sqlx::AssertSqlSafe(sql)).persistent(is_usual(settled.len()));
    for s in settled {
        query = query
            .bind(s.id.as_str())
            .bind(s.posted.micros())
            .bind(s.until.micros())
            .bind(s.due_at.map(Timestamp::micros));
    }
    query.execute(&mut **tx).await?;
    Ok(())
}

/// Long statements are kept prepared only at the one length that comes again and again.
fn is_usual(rows: usize) -> bool {
    rows == MOST
}

/// A place for a value. SQLite looks numbered ones up in a list, which would cost
/// more than the statement; it counts those without a number by itself.
fn place(dialect: Dialect, number: usize) -> String {
    match dialect {
        Dialect::Sqlite => "?".to_owned(),
        Dialect::Postgres => format!("${number}"),
    }
}

/// `($1, $2), ($3, $4)`, the first place numbered `first`; a list of single places
/// without brackets, as `IN` wants it.
fn places(dialect: Dialect, first: usize, rows: usize, columns: usize) -> String {
    let row = |row: usize| {
        let places: Vec<_> = (0..columns).map(|column| place(dialect, first + row * columns + column)).collect();
        if columns == 1 { places.concat() } else { format!("({})", places.join(", ")) }
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_numbered_across_rows() {
        assert_eq!(places(Dialect::Postgres, 2, 2, 2), "($2, $3), ($4, $5)");
        assert_eq!(places(Dialect::Postgres, 1, 3, 1), "$1, $2, $3");
        assert_eq!(places(Dialect::Sqlite, 2, 2, 2), "(?, ?), (?, ?)");
    }
}
