//! Segments: stretches of time at one frozen rate.

use base::{AccountId, InstanceId, Money, NodeId, Rate, SegmentId, Timestamp};
use billing::Plan;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::lease::Lease;
use crate::row::{json, money, parsed, rate, time, time_opt, to_json};
use crate::{Outcome, Tx};

/// By name: a column that a newer server adds must not change what a prepared
/// statement of this one returns.
macro_rules! columns {
    () => {
        "id, instance_id, account_id, node_id, generation, kind, rate, price_version, plan, from_at, \
         to_at, posted, evidence, closed_by, devices, due_at"
    };
}

/// A stretch of time at one rate, as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Id.
    pub id: SegmentId,
    /// Whose time.
    pub instance: InstanceId,
    /// Who pays.
    pub account: AccountId,
    /// Whose evidence counts.
    pub node: NodeId,
    /// Which placement of the instance.
    pub generation: i64,
    /// What is rented: `device`.
    pub kind: String,
    /// Frozen rate.
    pub rate: Rate,
    /// Price book of the rate.
    pub price_version: String,
    /// How it is paid.
    pub plan: Plan,
    /// Its beginning.
    pub from: Timestamp,
    /// Its end; `None`: open.
    pub to: Option<Timestamp>,
    /// What the ledger has of it.
    pub posted: Money,
    /// How its beginning was proven.
    pub evidence: String,
    /// Why it ended.
    pub closed_by: Option<String>,
    /// Serials or UUIDs of the devices.
    pub devices: Vec<String>,
    /// When it has to be settled; `None`: settled, or open.
    pub due_at: Option<Timestamp>,
}

pub(crate) fn segment(row: &AnyRow) -> Outcome<Segment> {
    Ok(Segment {
        id: parsed(row, "id")?,
        instance: parsed(row, "instance_id")?,
        account: parsed(row, "account_id")?,
        node: parsed(row, "node_id")?,
        generation: row.try_get("generation")?,
        kind: row.try_get("kind")?,
        rate: rate(row, "rate")?,
        price_version: row.try_get("price_version")?,
        plan: parsed(row, "plan")?,
        from: time(row, "from_at")?,
        to: time_opt(row, "to_at")?,
        posted: money(row, "posted")?,
        evidence: row.try_get("evidence")?,
        closed_by: row.try_get("closed_by")?,
        devices: json(row, "devices")?,
        due_at: time_opt(row, "due_at")?,
    })
}

/// Adds a segment. `false`: the instance has an open one already.
pub async fn insert(tx: &mut Tx<'_>, s: &Segment) -> Outcome<bool> {
    let done = sqlx::query(
        "INSERT INTO segments (id, instance_id, account_id, node_id, generation, kind, rate, price_version, plan,
            from_at, to_at, posted, evidence, closed_by, devices, due_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, $12, $13, $14, $15) ON CONFLICT DO NOTHING",
    )
    .bind(s.id.as_str())
    .bind(s.instance.as_str())
    .bind(s.account.as_str())
    .bind(s.node.as_str())
    .bind(s.generation)
    .bind(s.kind.as_str())
    .bind(s.rate.micros_per_hour())
    .bind(s.price_version.as_str())
    .bind(s.plan.as_str())
    .bind(s.from.micros())
    .bind(s.to.map(Timestamp::micros))
    .bind(s.evidence.as_str())
    .bind(s.closed_by.as_deref())
    .bind(to_json(&s.devices)?)
    .bind(s.due_at.map(Timestamp::micros))
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Closes the open segment of an instance at `at` (never before it began) and
/// makes it due for settlement. `None`: nothing was open.
pub async fn close(
    tx: &mut Tx<'_>,
    instance: &InstanceId,
    at: Timestamp,
    closed_by: &str,
    now: Timestamp,
) -> Outcome<Option<Segment>> {
    let row = sqlx::query(concat!(
        "UPDATE segments SET to_at = CASE WHEN from_at > $2 THEN from_at ELSE $2 END, closed_by = $3, due_at = $4
         WHERE instance_id = $1 AND to_at IS NULL RETURNING ",
        columns!()
    ))
    .bind(instance.as_str())
    .bind(at.micros())
    .bind(closed_by)
    .bind(now.micros())
    .fetch_optional(&mut **tx)
    .await?;
    row.as_ref().map(segment).transpose()
}

/// Takes back the end of a segment that is not settled yet, to an earlier moment:
/// not before it began, nor before what is posted already. `false`: it ended
/// there or before, or is settled.
pub async fn shorten(tx: &mut Tx<'_>, id: &SegmentId, to: Timestamp, closed_by: &str, now: Timestamp) -> Outcome<bool> {
    let done = sqlx::query(
        "UPDATE segments SET to_at = CASE WHEN posted_to > $2 AND posted_to > from_at THEN posted_to
                                          WHEN from_at > $2 THEN from_at ELSE $2 END,
            closed_by = $3, due_at = $4
         WHERE id = $1 AND (to_at IS NULL OR (to_at > $2 AND to_at > posted_to AND due_at IS NOT NULL))",
    )
    .bind(id.as_str())
    .bind(to.micros())
    .bind(closed_by)
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Open and unsettled segments of a node.
pub async fn unsettled_on(db: &mut AnyConnection, node: &NodeId) -> Outcome<Vec<Segment>> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM segments WHERE node_id = $1 AND (to_at IS NULL OR due_at IS NOT NULL) ORDER BY id"
    ))
    .bind(node.as_str())
    .fetch_all(db)
    .await?;
    rows.iter().map(segment).collect()
}

/// Open and unsettled segments of an account.
pub async fn unsettled_of(db: &mut AnyConnection, account: &AccountId) -> Outcome<Vec<Segment>> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM segments WHERE account_id = $1 AND (to_at IS NULL OR due_at IS NOT NULL) ORDER BY id"
    ))
    .bind(account.as_str())
    .fetch_all(db)
    .await?;
    rows.iter().map(segment).collect()
}

/// All segments of an instance, oldest first.
pub async fn of_instance(db: &mut AnyConnection, instance: &InstanceId) -> Outcome<Vec<Segment>> {
    let rows =
        sqlx::query(concat!("SELECT ", columns!(), " FROM segments WHERE instance_id = $1 ORDER BY from_at, id"))
            .bind(instance.as_str())
            .fetch_all(db)
            .await?;
    rows.iter().map(segment).collect()
}

/// Segments of an account that touch `[from, to)`, oldest first.
pub async fn of_account(
    db: &mut AnyConnection,
    account: &AccountId,
    from: Timestamp,
    to: Timestamp,
) -> Outcome<Vec<Segment>> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM segments WHERE account_id = $1 AND from_at < $3 AND (to_at IS NULL OR to_at > $2)
         ORDER BY from_at, id"
    ))
    .bind(account.as_str())
    .bind(from.micros())
    .bind(to.micros())
    .fetch_all(db)
    .await?;
    rows.iter().map(segment).collect()
}

/// The segment, locked, if the lease holds.
pub async fn lock(tx: &mut Tx<'_>, lease: &Lease) -> Outcome<Option<Segment>> {
    let row = sqlx::query(concat!(
        "UPDATE segments SET lease_until = lease_until WHERE id = $1 AND lease_token = $2 RETURNING ",
        columns!()
    ))
    .bind(lease.id.as_str())
    .bind(lease.token.as_str())
    .fetch_optional(&mut **tx)
    .await?;
    row.as_ref().map(segment).transpose()
}

/// Writes the result of a settlement step, what is posted now and up to when, and
/// gives the lease back.
pub async fn settled(
    tx: &mut Tx<'_>,
    lease: &Lease,
    posted: Money,
    until: Timestamp,
    due_at: Option<Timestamp>,
) -> Outcome<bool> {
    let done = sqlx::query(
        "UPDATE segments SET posted = $3, posted_to = $5, due_at = $4, lease_token = NULL, lease_until = 0
         WHERE id = $1 AND lease_token = $2",
    )
    .bind(lease.id.as_str())
    .bind(lease.token.as_str())
    .bind(posted.micros())
    .bind(due_at.map(Timestamp::micros))
    .bind(until.micros())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A stretch that nobody saw, on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// First unproven moment.
    pub from: Timestamp,
    /// First proven moment again.
    pub to: Timestamp,
    /// What is known of it.
    pub why: String,
}

/// Records a gap once.
pub async fn record_gap(tx: &mut Tx<'_>, node: &NodeId, gap: &Gap) -> Outcome<()> {
    sqlx::query("INSERT INTO gaps (node_id, from_at, to_at, why) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING")
        .bind(node.as_str())
        .bind(gap.from.micros())
        .bind(gap.to.micros())
        .bind(gap.why.as_str())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Gaps of a node that touch `[from, to)`.
pub async fn gaps(db: &mut AnyConnection, node: &NodeId, from: Timestamp, to: Timestamp) -> Outcome<Vec<Gap>> {
    let rows = sqlx::query(
        "SELECT from_at, to_at, why FROM gaps WHERE node_id = $1 AND from_at < $3 AND to_at > $2 ORDER BY from_at",
    )
    .bind(node.as_str())
    .bind(from.micros())
    .bind(to.micros())
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| Ok(Gap { from: time(row, "from_at")?, to: time(row, "to_at")?, why: row.try_get("why")? }))
        .collect()
}
