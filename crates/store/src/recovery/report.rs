//! The books and the machines compared.

use std::collections::BTreeMap;

use base::{AccountId, Error, InstanceId, NodeId, Slug, Timestamp};
use domain::instance::{Desired, State};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use super::Seen;
use crate::row::{parsed, parsed_opt};
use crate::{Outcome, nodes};

/// How an instance on a machine and its row agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    /// In the books and there.
    Same,
    /// In the books, not there.
    Missing,
    /// There, placed again after the backup was made.
    Newer,
    /// There, not in the books.
    Unknown,
}

/// One instance in the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Which.
    pub id: InstanceId,
    /// Its public name, if the books know it.
    pub slug: Option<Slug>,
    /// How books and machine agree.
    pub difference: Difference,
    /// Its state in the books.
    pub state: Option<State>,
    /// Its generation in the books.
    pub books: Option<i64>,
    /// Its generation on the machine.
    pub machine: Option<i64>,
    /// Whether it runs there.
    pub running: bool,
}

/// One machine in the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeReport {
    /// Which.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// Whether it was heard since the restore; `false`: nothing is known of what it has.
    pub heard: bool,
    /// Its instances by id, those of the books and those that are there.
    pub instances: Vec<Found>,
}

/// All machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// When the backup was restored.
    pub since: Timestamp,
    /// When the backup was made.
    pub made_at: Timestamp,
    /// The machines by name.
    pub nodes: Vec<NodeReport>,
    /// Changes with everything that the machines say.
    pub digest: String,
}

/// What the books say of an instance.
pub(super) struct Books {
    pub id: InstanceId,
    pub slug: Slug,
    pub account: AccountId,
    pub state: State,
    pub desired: Desired,
    pub generation: i64,
    pub node: Option<NodeId>,
}

const COLUMNS: &str = "id, slug, account_id, state, desired, generation, node_id";

fn books(row: &AnyRow) -> Outcome<Books> {
    Ok(Books {
        id: parsed(row, "id")?,
        slug: parsed(row, "slug")?,
        account: parsed(row, "account_id")?,
        state: parsed(row, "state")?,
        desired: parsed(row, "desired")?,
        generation: row.try_get("generation")?,
        node: parsed_opt(row, "node_id")?,
    })
}

/// One instance of one machine from both sides; at least one is there.
pub(super) struct Pair {
    pub difference: Difference,
    pub books: Option<Books>,
    pub seen: Option<Seen>,
}

/// The report as it is now; `None`: the site is not in recovery.
pub async fn report(db: &mut AnyConnection) -> Outcome<Option<Report>> {
    let Some(recovery) = super::current(db).await? else {
        return Ok(None);
    };
    let mut heard = super::seen(db).await?;
    let mut all = Vec::new();
    for node in nodes::list(db).await? {
        let seen = heard.remove(&node.id);
        let found = pairs(db, &node.id, seen.as_deref()).await?;
        all.push(NodeReport {
            heard: seen.is_some(),
            instances: found.into_iter().filter_map(found_of).collect(),
            name: node.name,
            node: node.id,
        });
    }
    let text = serde_json::to_vec(&all).map_err(Error::internal)?;
    let digest = hex::encode(Sha256::digest(&text));
    Ok(Some(Report { since: recovery.since, made_at: recovery.made_at, nodes: all, digest }))
}

fn found_of(pair: Pair) -> Option<Found> {
    let id = pair.books.as_ref().map(|b| b.id.clone()).or_else(|| pair.seen.as_ref().map(|s| s.id.clone()))?;
    Some(Found {
        id,
        slug: pair.books.as_ref().map(|b| b.slug.clone()),
        difference: pair.difference,
        state: pair.books.as_ref().map(|b| b.state),
        books: pair.books.as_ref().map(|b| b.generation),
        machine: pair.seen.as_ref().map(|s| s.generation),
        running: pair.seen.as_ref().is_some_and(|s| s.running),
    })
}

/// The instances of a node from both sides by id. Of a node that was not heard
/// only what the books have, as if it were there.
pub(super) async fn pairs(db: &mut AnyConnection, node: &NodeId, seen: Option<&[Seen]>) -> Outcome<Vec<Pair>> {
    let sql = select("WHERE node_id = $1 AND state <> 'released' ORDER BY id");
    let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(node.as_str()).fetch_all(&mut *db).await?;
    let mut known: BTreeMap<InstanceId, Books> = BTreeMap::new();
    for row in &rows {
        let row = books(row)?;
        known.insert(row.id.clone(), row);
    }
    let mut all: BTreeMap<InstanceId, Pair> = BTreeMap::new();
    for seen in seen.unwrap_or_default() {
        let books = match known.remove(&seen.id) {
            Some(row) => Some(row),
            None => elsewhere(db, &seen.id).await?,
        };
        let difference = match &books {
            // Released for good: whatever is there does not belong to that row any more.
            None | Some(Books { state: State::Released, .. }) => Difference::Unknown,
            Some(b) if seen.generation > b.generation || (seen.running && b.node.as_ref() != Some(node)) => {
                Difference::Newer
            }
            Some(b) if b.state == State::Running && seen.generation < b.generation => Difference::Missing,
            Some(b) if b.state == State::Running && !seen.running => Difference::Missing,
            Some(_) => Difference::Same,
        };
        all.insert(seen.id.clone(), Pair { difference, books, seen: Some(seen.clone()) });
    }
    let rest = if seen.is_some() { Difference::Missing } else { Difference::Same };
    for (id, row) in known {
        all.insert(id, Pair { difference: rest, books: Some(row), seen: None });
    }
    Ok(all.into_values().collect())
}

async fn elsewhere(db: &mut AnyConnection, id: &InstanceId) -> Outcome<Option<Books>> {
    let sql = select("WHERE id = $1");
    let row = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id.as_str()).fetch_optional(db).await?;
    row.as_ref().map(books).transpose()
}

fn select(which: &str) -> String {
    format!("SELECT {COLUMNS} FROM instances {which}")
}
