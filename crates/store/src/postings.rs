//! The ledger: append-only, each cause once.

use base::{AccountId, Money, PostingId, SegmentId};
use billing::ledger::{Book, Posting, effect};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::row::{money, parsed, parsed_opt, time};
use crate::{Outcome, Tx};

/// Enters a posting and moves the balance of the account that it touches.
/// `None`: its cause was posted before, and nothing changes.
pub async fn post(
    tx: &mut Tx<'_>,
    posting: &Posting,
    account: &AccountId,
    note: Option<&str>,
) -> Outcome<Option<PostingId>> {
    let posting = posting.clone().checked()?;
    let id = PostingId::new(posting.at, tx.random());
    let done = sqlx::query(
        "INSERT INTO postings (id, debit, credit, amount, kind, cause, at, account_id, segment_id, price_version, note)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (cause) DO NOTHING",
    )
    .bind(id.as_str())
    .bind(posting.debit.to_string())
    .bind(posting.credit.to_string())
    .bind(posting.amount.micros())
    .bind(posting.kind.as_str())
    .bind(posting.cause.as_str())
    .bind(posting.at.micros())
    .bind(account.as_str())
    .bind(posting.segment.as_ref().map(SegmentId::as_str))
    .bind(posting.price_version.as_deref())
    .bind(note)
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(None);
    }
    let change = effect(&posting, &Book::Balance(account.clone()));
    if change != 0 {
        sqlx::query("UPDATE accounts SET balance = balance + $2 WHERE id = $1")
            .bind(account.as_str())
            .bind(change)
            .execute(&mut **tx)
            .await?;
    }
    Ok(Some(id))
}

/// By name: a column that a newer server adds must not change what a prepared
/// statement of this one returns.
macro_rules! columns {
    () => {
        "debit, credit, amount, kind, cause, at, segment_id, price_version"
    };
}

fn posting(row: &AnyRow) -> Outcome<Posting> {
    Ok(Posting {
        debit: parsed(row, "debit")?,
        credit: parsed(row, "credit")?,
        amount: money(row, "amount")?,
        kind: parsed(row, "kind")?,
        cause: row.try_get("cause")?,
        at: time(row, "at")?,
        segment: parsed_opt(row, "segment_id")?,
        price_version: row.try_get("price_version")?,
    })
}

/// Postings of an account in a stretch of time, oldest first.
pub async fn of_account(
    db: &mut AnyConnection,
    account: &AccountId,
    from: base::Timestamp,
    to: base::Timestamp,
) -> Outcome<Vec<Posting>> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM postings WHERE account_id = $1 AND at >= $2 AND at < $3 ORDER BY at, id"
    ))
    .bind(account.as_str())
    .bind(from.micros())
    .bind(to.micros())
    .fetch_all(db)
    .await?;
    rows.iter().map(posting).collect()
}

/// What the ledger has posted for a segment with a time in `[from, to)`.
pub async fn sum_for_segment_between(
    db: &mut AnyConnection,
    segment: &SegmentId,
    from: base::Timestamp,
    to: base::Timestamp,
) -> Outcome<Money> {
    let row = sqlx::query(
        "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS amount FROM postings
         WHERE segment_id = $1 AND at >= $2 AND at < $3",
    )
    .bind(segment.as_str())
    .bind(from.micros())
    .bind(to.micros())
    .fetch_one(db)
    .await?;
    money(&row, "amount")
}

/// Every book and its content, by name.
pub async fn books(db: &mut AnyConnection) -> Outcome<Vec<(String, Money)>> {
    let rows = sqlx::query(
        "SELECT book, CAST(SUM(amount) AS BIGINT) AS amount FROM (
            SELECT credit AS book, amount FROM postings UNION ALL SELECT debit AS book, -amount AS amount FROM postings
         ) AS sides GROUP BY book ORDER BY book",
    )
    .fetch_all(db)
    .await?;
    rows.iter().map(|row| Ok((row.try_get("book")?, money(row, "amount")?))).collect()
}
