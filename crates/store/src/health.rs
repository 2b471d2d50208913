//! What an operator has to know of the whole site, counted. Each question is
//! answered from an index of what waits, never from all instances.

use base::Timestamp;
use domain::instance::State;
use sqlx::{AnyConnection, Row};

use crate::Outcome;
use crate::row::parsed;

/// Instances that have missed the deadline of their state at `now`, by state.
///
/// # Errors
/// The database's.
pub async fn late_by_state(db: &mut AnyConnection, now: Timestamp) -> Outcome<Vec<(State, i64)>> {
    let rows = sqlx::query(
        "SELECT state, COUNT(*) AS n FROM instances WHERE due_at IS NOT NULL AND deadline_at < $1 GROUP BY state",
    )
    .bind(now.micros())
    .fetch_all(db)
    .await?;
    rows.iter().map(|row| Ok((parsed(row, "state")?, row.try_get("n")?))).collect()
}

/// How many instances missed a deadline before `before` without an incident that
/// was opened for it: nobody has been told of them.
///
/// # Errors
/// The database's.
pub async fn late_untold(db: &mut AnyConnection, before: Timestamp) -> Outcome<i64> {
    let row = sqlx::query(
        "SELECT COUNT(*) AS n FROM instances WHERE due_at IS NOT NULL AND deadline_at < $1 AND NOT EXISTS (
             SELECT 1 FROM incidents WHERE incidents.kind = 'stuck-state' AND incidents.subject = instances.id
                 AND incidents.opened_at >= instances.deadline_at)",
    )
    .bind(before.micros())
    .fetch_one(db)
    .await?;
    Ok(row.try_get("n")?)
}

/// Open incidents by kind.
///
/// # Errors
/// The database's.
pub async fn open_incidents(db: &mut AnyConnection) -> Outcome<Vec<(String, i64)>> {
    let rows = sqlx::query("SELECT kind, COUNT(*) AS n FROM incidents WHERE closed_at IS NULL GROUP BY kind")
        .fetch_all(db)
        .await?;
    rows.iter().map(|row| Ok((row.try_get("kind")?, row.try_get("n")?))).collect()
}

/// Events that wait for their number: how many, and when the oldest of them happened.
///
/// # Errors
/// The database's.
pub async fn unsequenced(db: &mut AnyConnection) -> Outcome<(i64, Option<Timestamp>)> {
    let row =
        sqlx::query("SELECT COUNT(*) AS n, MIN(at) AS oldest FROM events WHERE seq IS NULL").fetch_one(db).await?;
    let oldest: Option<i64> = row.try_get("oldest")?;
    Ok((row.try_get("n")?, oldest.map(Timestamp::from_micros)))
}
