//! A restored site is in recovery until an operator has seen how its books and its
//! machines differ: nothing is claimed, nothing outside is changed, no wish is taken.
//! What machines prove is still written down.
//!
//! Each machine's instances are noted here as it tells them, so that the report and
//! its acceptance are made from the database alone, by whichever server is asked.

mod accept;
mod report;

use std::collections::BTreeMap;

use base::{Cause, Error, InstanceId, NodeId, Timestamp};
use serde::{Deserialize, Serialize};
use sqlx::{AnyConnection, Row};

use crate::row::{parsed, to_json};
use crate::{Outcome, Tx, site};

pub use accept::{Accepted, accept, settle_late};
pub use report::{Difference, Found, NodeReport, Report, report};

/// Key in `site` while recovery lasts.
pub const KEY: &str = "recovery";
/// Beginning of the keys that note what a machine has.
const SEEN: &str = "recovery-seen:";
/// Beginning of the keys of machines that were silent when recovery ended.
const LATE: &str = "recovery-late:";

/// What is known of the recovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// When the backup was restored.
    pub since: Timestamp,
    /// When the backup was made.
    pub made_at: Timestamp,
    /// How far the evidence of each node reached in the backup.
    pub proven: BTreeMap<String, Timestamp>,
}

/// One instance that a machine has something of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Which.
    pub id: InstanceId,
    /// Which placement of it.
    pub generation: i64,
    /// Whether its first process runs.
    pub running: bool,
    /// When it was proven ready, if it was.
    pub ready_at: Option<Timestamp>,
    /// UUIDs of its devices.
    pub devices: Vec<String>,
}

/// Begins recovery, at the end of a restore.
pub(crate) async fn begin(db: &mut AnyConnection, now: Timestamp, made_at: Timestamp) -> Outcome<()> {
    let mut proven = BTreeMap::new();
    for row in sqlx::query("SELECT id, proven_until FROM nodes").fetch_all(&mut *db).await? {
        proven.insert(row.try_get("id")?, Timestamp::from_micros(row.try_get("proven_until")?));
    }
    // A backup of a site in recovery brings notes of machines as they were then.
    sqlx::query("DELETE FROM site WHERE key LIKE 'recovery%'").execute(&mut *db).await?;
    sqlx::query("INSERT INTO site (key, value) VALUES ($1, $2)")
        .bind(KEY)
        .bind(to_json(&Recovery { since: now, made_at, proven })?)
        .execute(db)
        .await?;
    Ok(())
}

/// The recovery that goes on, if any.
pub async fn current(db: &mut AnyConnection) -> Outcome<Option<Recovery>> {
    let text = site::get(db, KEY).await?;
    Ok(text.map(|text| serde_json::from_str(&text)).transpose().map_err(Error::internal)?)
}

/// Refuses a wish while the site is in recovery.
pub(crate) async fn refuse_wishes(tx: &mut Tx<'_>) -> Outcome<()> {
    match site::get(tx, KEY).await? {
        None => Ok(()),
        Some(_) => Err(Error::new(Cause::InRecovery, "the site was restored from a backup and is being looked over")
            .hint("instances stay as they are; try again when the operator has accepted its state (`suanli recovery show`)")
            .into()),
    }
}

/// Notes what a machine has, while the site is in recovery. `false`: it is not.
pub async fn note(tx: &mut Tx<'_>, node: &NodeId, mut seen: Vec<Seen>) -> Outcome<bool> {
    if site::get(tx, KEY).await?.is_none() {
        return Ok(false);
    }
    seen.sort_by(|a, b| a.id.cmp(&b.id));
    let (key, text) = (format!("{SEEN}{node}"), to_json(&seen)?);
    if site::get(tx, &key).await?.as_deref() != Some(&text) {
        site::set(tx, &key, &text).await?;
    }
    Ok(true)
}

/// What each machine was heard to have.
async fn seen(db: &mut AnyConnection) -> Outcome<BTreeMap<NodeId, Vec<Seen>>> {
    let rows = sqlx::query("SELECT substr(key, 15) AS node, value FROM site WHERE key LIKE 'recovery-seen:%'")
        .fetch_all(db)
        .await?;
    rows.iter()
        .map(|row| {
            let text: String = row.try_get("value")?;
            Ok((parsed(row, "node")?, serde_json::from_str(&text).map_err(Error::internal)?))
        })
        .collect()
}

/// Whether a node was silent when recovery ended, so that what it has is still to
/// be settled with [`settle_late`].
pub async fn is_late(db: &mut AnyConnection, node: &NodeId) -> Outcome<bool> {
    Ok(site::get(db, &format!("{LATE}{node}")).await?.is_some())
}
