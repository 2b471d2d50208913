//! Mail that has to leave the site: written with the deed that it tells of, sent
//! afterwards, and tried again until it is sent or too old.

use base::{MessageId, Span, Timestamp};
use sqlx::{AnyConnection, Row};

use crate::lease::lease_now;
use crate::row::{parsed, time, to_json};
use crate::secrets::{OUTBOX, open};
use crate::{Dialect, Outcome, Tx, incidents};
use serde::{Deserialize, Serialize};

/// How long somebody who sends a message keeps it from the others.
pub const LEASE: Span = Span::from_secs(120);

/// How long a message is tried.
pub const TRIED_FOR: Span = Span::from_hours(72);

/// First and longest pause between two tries.
const PAUSES: (Span, Span) = (Span::from_secs(20), Span::from_hours(2));

/// Kind and object of the incident about mail that did not leave.
const INCIDENT: (&str, &str) = ("mail-not-sent", "mail");

/// What is written in a mail. It may hold a link that opens a door.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// Subject, one line.
    pub subject: String,
    /// Plain text.
    pub text: String,
}

impl std::fmt::Debug for Letter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Letter").field("subject", &self.subject).finish_non_exhaustive()
    }
}

/// A message that somebody has to send now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Id.
    pub id: MessageId,
    /// Permission to send it.
    pub token: String,
    /// The address.
    pub recipient: String,
    /// What is written.
    pub letter: Letter,
    /// How often it was tried before.
    pub tries: i64,
    /// When it was written.
    pub created_at: Timestamp,
}

/// Puts a mail into the outbox.
pub async fn put(tx: &mut Tx<'_>, recipient: &str, letter: &Letter, now: Timestamp) -> Outcome<MessageId> {
    let id = MessageId::new(now, tx.random());
    let data = tx.sealed(OUTBOX, id.as_str(), &to_json(letter)?)?;
    sqlx::query(
        "INSERT INTO outbox (id, kind, recipient, data, due_at, created_at) VALUES ($1, 'mail', $2, $3, $4, $4)",
    )
    .bind(id.as_str())
    .bind(recipient)
    .bind(data)
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    Ok(id)
}

/// How many messages to somebody were written since then.
pub async fn count_since(db: &mut AnyConnection, recipient: &str, since: Timestamp) -> Outcome<i64> {
    let row = sqlx::query("SELECT COUNT(*) AS n FROM outbox WHERE recipient = $1 AND created_at > $2")
        .bind(recipient)
        .bind(since.micros())
        .fetch_one(db)
        .await?;
    Ok(row.try_get("n")?)
}

/// When the next message is due.
pub async fn next_due(db: &mut AnyConnection) -> Outcome<Option<Timestamp>> {
    let row = sqlx::query("SELECT MIN(due_at) AS due FROM outbox WHERE due_at IS NOT NULL").fetch_one(db).await?;
    Ok(row.try_get::<Option<i64>, _>("due")?.map(Timestamp::from_micros))
}

macro_rules! claim_sql {
    ($lock:literal) => {
        concat!(
            "WITH due AS MATERIALIZED (SELECT id FROM outbox WHERE due_at <= $1 AND lease_until < $2
                AND NOT EXISTS (SELECT 1 FROM site WHERE key = 'recovery') ORDER BY due_at LIMIT $3 ",
            $lock,
            ") UPDATE outbox SET lease_token = $4, lease_until = $5 WHERE id IN (SELECT id FROM due)
               RETURNING id, recipient, data, tries, created_at"
        )
    };
}

/// Claims at most `limit` messages that are due.
pub async fn claim(tx: &mut Tx<'_>, now: Timestamp, limit: i64) -> Outcome<Vec<Claimed>> {
    let clock = lease_now(tx, now).await?;
    let token = format!("{:032x}", tx.random());
    let sql = match tx.dialect() {
        Dialect::Sqlite => claim_sql!(""),
        Dialect::Postgres => claim_sql!("FOR UPDATE SKIP LOCKED"),
    };
    let rows = sqlx::query(sql)
        .bind(now.micros())
        .bind(clock.micros())
        .bind(limit)
        .bind(token.as_str())
        .bind(clock.after(LEASE).micros())
        .fetch_all(&mut **tx)
        .await?;
    let claimed = |row: &sqlx::any::AnyRow| {
        let id: MessageId = parsed(row, "id")?;
        let data = open(OUTBOX, id.as_str(), row.try_get("data")?)?;
        Ok(Claimed {
            token: token.clone(),
            recipient: row.try_get("recipient")?,
            letter: serde_json::from_str(&data).map_err(base::Error::internal)?,
            tries: row.try_get("tries")?,
            created_at: time(row, "created_at")?,
            id,
        })
    };
    rows.iter().map(claimed).collect()
}

/// A message has left: what was in it is forgotten, and so is the trouble of those before.
pub async fn sent(tx: &mut Tx<'_>, message: &Claimed, now: Timestamp) -> Outcome<bool> {
    incidents::close(tx, now, INCIDENT.0, INCIDENT.1).await?;
    let done = sqlx::query(
        "UPDATE outbox SET data = NULL, due_at = NULL, sent_at = $3, tries = tries + 1, error = NULL,
            lease_token = NULL, lease_until = 0 WHERE id = $1 AND lease_token = $2",
    )
    .bind(message.id.as_str())
    .bind(message.token.as_str())
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// What becomes of a message that did not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is tried again then.
    Again(Timestamp),
    /// It is never sent: it is too old, or its address does not exist.
    Never,
}

/// A message did not leave, for this reason. `hopeless`: its address is refused
/// for good, which is nobody's fault here and no incident.
pub async fn failed(tx: &mut Tx<'_>, message: &Claimed, why: &str, hopeless: bool, now: Timestamp) -> Outcome<Next> {
    let again = now.after(pause(message.tries));
    let too_old = again.since(message.created_at) > TRIED_FOR;
    let next = if hopeless || too_old { Next::Never } else { Next::Again(again) };
    let due = match next {
        Next::Again(at) => Some(at.micros()),
        Next::Never => None,
    };
    sqlx::query(
        "UPDATE outbox SET due_at = $3, tries = tries + 1, error = $4,
            data = CASE WHEN $5 = 1 THEN NULL ELSE data END, lease_token = NULL, lease_until = 0
         WHERE id = $1 AND lease_token = $2",
    )
    .bind(message.id.as_str())
    .bind(message.token.as_str())
    .bind(due)
    .bind(why)
    .bind(i64::from(due.is_none()))
    .execute(&mut **tx)
    .await?;
    if next == Next::Never && !hopeless {
        let action = "look at the mail settings with `suanli site show` and at the mail server, then set them right";
        let detail = format!("mail did not leave for three days: {why}");
        incidents::open(tx, now, "mail-not-sent", INCIDENT.1, action, &detail).await?;
    }
    Ok(next)
}

/// Twice as long after each try.
fn pause(tries: i64) -> Span {
    let doubled = PAUSES.0.micros().saturating_mul(1 << tries.clamp(0, 20));
    Span::from_micros(doubled.min(PAUSES.1.micros()))
}

/// Removes messages that were done with before `before`; how many.
pub async fn retain(tx: &mut Tx<'_>, before: Timestamp) -> Outcome<u64> {
    let done = sqlx::query("DELETE FROM outbox WHERE due_at IS NULL AND created_at < $1")
        .bind(before.micros())
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let secs: Vec<i64> = [0, 1, 2, 5, 40].map(|tries| pause(tries).secs()).to_vec();
        assert_eq!(secs, [20, 40, 80, 640, 7200]);
    }
}
