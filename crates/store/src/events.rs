//! What happened, in one order that every reader can follow without missing any.
//!
//! An event gets its place (`seq`) after its transaction has committed, from one
//! statement that numbers everything unnumbered: a reader who has seen `n` will
//! never find a smaller number later. Numbers taken inside the transactions
//! could become visible out of order.

use base::{AccountId, EventId, Timestamp};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::row::{json, parsed, parsed_opt, time, to_json};
use crate::{Outcome, Tx};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Id.
    pub id: EventId,
    /// Its place in the stream.
    pub seq: i64,
    /// When.
    pub at: Timestamp,
    /// Whose; `None` is the operator's alone.
    pub account: Option<AccountId>,
    /// Id of the object.
    pub subject: String,
    /// What, kebab-case.
    pub kind: String,
    /// In a sentence.
    pub message: String,
    /// Details.
    pub data: serde_json::Value,
}

/// Who may see which events.
#[derive(Clone, Debug)]
pub enum Audience {
    /// Everything.
    Operator,
    /// The events of these accounts.
    Accounts(Vec<AccountId>),
}

/// Writes an event into the transaction that makes it true.
pub async fn record(
    tx: &mut Tx<'_>,
    at: Timestamp,
    account: Option<&AccountId>,
    subject: &str,
    kind: &str,
    message: &str,
    data: &serde_json::Value,
) -> Outcome<()> {
    let id = EventId::new(at, tx.in_order());
    sqlx::query(
        "INSERT INTO events (id, at, account_id, subject, kind, message, data) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(id.as_str())
    .bind(at.micros())
    .bind(account.map(AccountId::as_str))
    .bind(subject)
    .bind(kind)
    .bind(message)
    .bind(to_json(data)?)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Numbers what is not numbered yet; how many that were. Two servers that do it
/// at once wait for each other: `seq IS NULL` is asked again of every row that the
/// first has numbered meanwhile, and where both took the same number the unique
/// index refuses the second, who has to try again.
pub async fn sequence(tx: &mut Tx<'_>) -> Outcome<u64> {
    let done = sqlx::query(
        "WITH top AS (SELECT COALESCE(MAX(seq), 0) AS seq FROM events),
              fresh AS (SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS n FROM events WHERE seq IS NULL)
         UPDATE events SET seq = top.seq + fresh.n FROM top, fresh WHERE events.id = fresh.id AND events.seq IS NULL",
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

/// By name: a column that a newer server adds must not change what a prepared
/// statement of this one returns.
macro_rules! columns {
    () => {
        "id, seq, at, account_id, subject, kind, message, data"
    };
}

fn event(row: &AnyRow) -> Outcome<Event> {
    Ok(Event {
        id: parsed(row, "id")?,
        seq: row.try_get("seq")?,
        at: time(row, "at")?,
        account: parsed_opt(row, "account_id")?,
        subject: row.try_get("subject")?,
        kind: row.try_get("kind")?,
        message: row.try_get("message")?,
        data: json(row, "data")?,
    })
}

/// At most `limit` events after `after`, oldest first, and up to which number
/// they were looked for. Only those that `audience` may see, only those of `subject` if given.
pub async fn after(
    db: &mut AnyConnection,
    audience: &Audience,
    subject: Option<&str>,
    after: i64,
    limit: i64,
) -> Outcome<Vec<Event>> {
    let mut found = Vec::new();
    match (audience, subject) {
        (Audience::Operator, None) => {
            let rows = sqlx::query(concat!("SELECT ", columns!(), " FROM events WHERE seq > $1 ORDER BY seq LIMIT $2"))
                .bind(after)
                .bind(limit)
                .fetch_all(db)
                .await?;
            found.extend(rows);
        }
        (Audience::Operator, Some(subject)) => {
            let rows = sqlx::query(concat!(
                "SELECT ",
                columns!(),
                " FROM events WHERE subject = $3 AND seq > $1 ORDER BY seq LIMIT $2"
            ))
            .bind(after)
            .bind(limit)
            .bind(subject)
            .fetch_all(db)
            .await?;
            found.extend(rows);
        }
        (Audience::Accounts(accounts), subject) => {
            for account in accounts {
                let rows = sqlx::query(concat!(
                    "SELECT ",
                    columns!(),
                    " FROM events WHERE account_id = $3 AND seq > $1 AND ($4 = '' OR subject = $4)
                     ORDER BY seq LIMIT $2"
                ))
                .bind(after)
                .bind(limit)
                .bind(account.as_str())
                .bind(subject.unwrap_or(""))
                .fetch_all(&mut *db)
                .await?;
                found.extend(rows);
            }
        }
    }
    let mut events = found.iter().map(event).collect::<Outcome<Vec<_>>>()?;
    events.sort_by_key(|e| e.seq);
    events.truncate(usize::try_from(limit).unwrap_or(0));
    Ok(events)
}

/// The number of the newest event.
pub async fn last(db: &mut AnyConnection) -> Outcome<i64> {
    let row = sqlx::query("SELECT CAST(COALESCE(MAX(seq), 0) AS BIGINT) AS seq FROM events").fetch_one(db).await?;
    Ok(row.try_get("seq")?)
}

/// Whether any event waits for its number.
pub async fn any_unsequenced(db: &mut AnyConnection) -> Outcome<bool> {
    Ok(sqlx::query("SELECT id FROM events WHERE seq IS NULL LIMIT 1").fetch_optional(db).await?.is_some())
}
