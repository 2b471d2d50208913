//! The books recomputed from segments and evidence.

use std::collections::BTreeMap;

use base::{Money, Timestamp};
use billing::ledger::Book;
use billing::segment::charge_until;
use sqlx::{AnyConnection, Row};

use crate::row::{money, parsed, rate, time, time_opt};
use crate::{Outcome, postings};

/// What the recomputation found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Accounts looked at.
    pub accounts: i64,
    /// Segments looked at.
    pub segments: i64,
    /// Postings looked at.
    pub postings: i64,
    /// What differs, in sentences. The books are right only when it is empty.
    pub differences: Vec<String>,
}

/// Recomputes every charge from its segment and evidence, every balance from its
/// postings, the holds, and the laws that no tenant shares a device and no
/// segments of an instance overlap. To be run in one read transaction.
pub async fn run(db: &mut AnyConnection) -> Outcome<Audit> {
    let mut audit = Audit::default();
    charges(db, &mut audit).await?;
    balances(db, &mut audit).await?;
    overlaps(db, &mut audit).await?;
    Ok(audit)
}

async fn charges(db: &mut AnyConnection, audit: &mut Audit) -> Outcome<()> {
    let rows = sqlx::query(
        "SELECT s.id AS id, s.rate AS rate, s.from_at AS from_at, s.to_at AS to_at, s.posted AS posted, s.due_at AS due_at,
            n.proven_until AS proven_until,
            CAST((SELECT COALESCE(SUM(p.amount), 0) FROM postings p WHERE p.segment_id = s.id) AS BIGINT) AS entered
         FROM segments s JOIN nodes n ON n.id = s.node_id ORDER BY s.id",
    )
    .fetch_all(&mut *db)
    .await?;
    for row in &rows {
        audit.segments += 1;
        let id: base::SegmentId = parsed(row, "id")?;
        let (from, to, proven) = (time(row, "from_at")?, time_opt(row, "to_at")?, time(row, "proven_until")?);
        let (posted, entered) = (money(row, "posted")?, money(row, "entered")?);
        let settled = to.is_some() && time_opt(row, "due_at")?.is_none();
        let until = to.map_or(proven, |to| to.min(proven)).max(from);
        let owed = charge_until(from, rate(row, "rate")?, until)?;
        if posted != entered {
            audit.differences.push(format!("{id}: the segment says {posted} is posted, the ledger has {entered}"));
        }
        if settled && entered != owed {
            audit.differences.push(format!("{id}: {entered} is posted, its time and rate make {owed}"));
        }
        if !settled && entered > owed {
            audit.differences.push(format!("{id}: {entered} is posted already, only {owed} is proven"));
        }
    }
    Ok(())
}

async fn balances(db: &mut AnyConnection, audit: &mut Audit) -> Outcome<()> {
    let count = sqlx::query("SELECT COUNT(*) AS n FROM postings").fetch_one(&mut *db).await?;
    audit.postings = count.try_get("n")?;
    let books: BTreeMap<String, Money> = postings::books(db).await?.into_iter().collect();
    let total: i128 = books.values().map(|m| i128::from(m.micros())).sum();
    if total != 0 {
        audit.differences.push(format!("all books together are {total} micro-units, they must be zero"));
    }
    let rows = sqlx::query(
        "SELECT a.id AS id, a.balance AS balance, a.held AS held,
            CAST((SELECT COALESCE(SUM(h.amount), 0) FROM holds h WHERE h.account_id = a.id) AS BIGINT) AS holds
         FROM accounts a ORDER BY a.id",
    )
    .fetch_all(&mut *db)
    .await?;
    for row in &rows {
        audit.accounts += 1;
        let id: base::AccountId = parsed(row, "id")?;
        let (balance, held, holds) = (money(row, "balance")?, money(row, "held")?, money(row, "holds")?);
        let book = books.get(&Book::Balance(id.clone()).to_string()).copied().unwrap_or_default();
        if balance != book {
            audit.differences.push(format!("{id}: the balance is {balance}, its book has {book}"));
        }
        if held != holds {
            audit.differences.push(format!("{id}: {held} is held, its holds add up to {holds}"));
        }
    }
    Ok(())
}

async fn overlaps(db: &mut AnyConnection, audit: &mut Audit) -> Outcome<()> {
    let rows = sqlx::query("SELECT id, instance_id, from_at, to_at FROM segments ORDER BY instance_id, from_at, id")
        .fetch_all(&mut *db)
        .await?;
    let mut before: Option<(String, String, Timestamp)> = None;
    for row in &rows {
        let (id, instance): (String, String) = (row.try_get("id")?, row.try_get("instance_id")?);
        let (from, to) = (time(row, "from_at")?, time_opt(row, "to_at")?);
        if let Some((other, of, end)) = &before
            && *of == instance
            && from < *end
        {
            audit.differences.push(format!("{id} begins before {other} of the same instance ends"));
        }
        before = Some((id, instance, to.unwrap_or(Timestamp::from_micros(i64::MAX))));
    }
    let rows = sqlx::query(
        "SELECT a.device_id AS device_id FROM allocations a JOIN allocations b
            ON a.device_id = b.device_id AND a.id < b.id AND a.instance_id <> b.instance_id
         WHERE b.created_at < COALESCE(a.released_at, b.created_at + 1)
            AND a.created_at < COALESCE(b.released_at, a.created_at + 1)",
    )
    .fetch_all(&mut *db)
    .await?;
    for row in &rows {
        audit.differences.push(format!("{} had two tenants at once", row.try_get::<String, _>("device_id")?));
    }
    Ok(())
}
