//! What somebody has to look at.

use base::{IncidentId, Timestamp};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::row::{parsed, time, time_opt};
use crate::{Outcome, Tx};

/// By name: a column that a newer server adds must not change what a prepared
/// statement of this one returns.
macro_rules! columns {
    () => {
        "id, kind, subject, opened_at, closed_at, owner, action, detail"
    };
}

/// A missed deadline or a broken law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// Id.
    pub id: IncidentId,
    /// What kind, kebab-case.
    pub kind: String,
    /// Id of the object.
    pub subject: String,
    /// When it began.
    pub opened_at: Timestamp,
    /// When it was over.
    pub closed_at: Option<Timestamp>,
    /// Who should act.
    pub owner: String,
    /// What to do.
    pub action: String,
    /// In a sentence.
    pub detail: String,
}

/// Opens an incident unless the same one is open. `true`: it is new.
pub async fn open(
    tx: &mut Tx<'_>,
    now: Timestamp,
    kind: &str,
    subject: &str,
    action: &str,
    detail: &str,
) -> Outcome<bool> {
    let id = IncidentId::new(now, tx.random());
    let done = sqlx::query(
        "INSERT INTO incidents (id, kind, subject, opened_at, owner, action, detail)
         VALUES ($1, $2, $3, $4, 'operator', $5, $6) ON CONFLICT DO NOTHING",
    )
    .bind(id.as_str())
    .bind(kind)
    .bind(subject)
    .bind(now.micros())
    .bind(action)
    .bind(detail)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Closes what is open of this kind and object.
pub async fn close(tx: &mut Tx<'_>, now: Timestamp, kind: &str, subject: &str) -> Outcome<()> {
    sqlx::query("UPDATE incidents SET closed_at = $3 WHERE kind = $1 AND subject = $2 AND closed_at IS NULL")
        .bind(kind)
        .bind(subject)
        .bind(now.micros())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Closes the open incident `id` because an operator says so, and records that
/// with his note. `None`: there is none with this id, or it is closed already.
pub async fn close_by_hand(
    tx: &mut Tx<'_>,
    now: Timestamp,
    id: &IncidentId,
    by: &str,
    note: Option<&str>,
) -> Outcome<Option<Incident>> {
    let row = sqlx::query(concat!(
        "UPDATE incidents SET closed_at = $2 WHERE id = $1 AND closed_at IS NULL RETURNING ",
        columns!()
    ))
    .bind(id.as_str())
    .bind(now.micros())
    .fetch_optional(&mut **tx)
    .await?;
    let Some(closed) = row.as_ref().map(incident).transpose()? else {
        return Ok(None);
    };
    let data = serde_json::json!({ "incident": closed.id, "kind": closed.kind, "by": by, "note": note });
    let message = match note {
        Some(note) => format!("{by} closed the incident {}: {note}", closed.kind),
        None => format!("{by} closed the incident {}", closed.kind),
    };
    crate::events::record(tx, now, None, &closed.subject, "incident-closed", &message, &data).await?;
    Ok(Some(closed))
}

/// One incident.
pub async fn get(db: &mut AnyConnection, id: &IncidentId) -> Outcome<Option<Incident>> {
    let row = sqlx::query(concat!("SELECT ", columns!(), " FROM incidents WHERE id = $1"))
        .bind(id.as_str())
        .fetch_optional(db)
        .await?;
    row.as_ref().map(incident).transpose()
}

fn incident(row: &AnyRow) -> Outcome<Incident> {
    Ok(Incident {
        id: parsed(row, "id")?,
        kind: row.try_get("kind")?,
        subject: row.try_get("subject")?,
        opened_at: time(row, "opened_at")?,
        closed_at: time_opt(row, "closed_at")?,
        owner: row.try_get("owner")?,
        action: row.try_get("action")?,
        detail: row.try_get("detail")?,
    })
}

/// The newest incidents, open ones first.
pub async fn list(db: &mut AnyConnection, limit: i64) -> Outcome<Vec<Incident>> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM incidents ORDER BY CASE WHEN closed_at IS NULL THEN 0 ELSE 1 END, opened_at DESC LIMIT $1"
    ))
    .bind(limit)
    .fetch_all(db)
    .await?;
    rows.iter().map(incident).collect()
}
