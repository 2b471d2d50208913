//! Nodes, their inventory and how far their evidence reaches.

use base::{NodeId, Timestamp};
use domain::device::DeviceFacts;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::row::{json, parsed, time, to_json};
use crate::{Outcome, Tx};

/// A machine with devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Id.
    pub id: NodeId,
    /// Unique name.
    pub name: String,
    /// `ready`, `lost` or `cordoned`.
    pub state: String,
    /// `container`, `vm`, `node` or `none`.
    pub isolation: String,
    /// CPU cores.
    pub cpus: i64,
    /// Memory, MiB.
    pub memory_mib: i64,
    /// Free disk when it was last told, MiB.
    pub disk_mib: i64,
    /// What the host cannot do.
    pub notices: Vec<String>,
    /// Which inventory is stored.
    pub inventory_version: i64,
    /// Boot in which the last proof lies.
    pub boot_id: String,
    /// Evidence reaches up to here.
    pub proven_until: Timestamp,
    /// When its agent was last heard.
    pub seen_at: Timestamp,
}

/// What an agent tells of its machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inventory {
    /// Name of the node.
    pub name: String,
    /// See [`Node`].
    pub isolation: String,
    /// CPU cores.
    pub cpus: i64,
    /// Memory, MiB.
    pub memory_mib: i64,
    /// Free disk, MiB.
    pub disk_mib: i64,
    /// What the host cannot do.
    pub notices: Vec<String>,
    /// Version of this inventory.
    pub version: i64,
    /// Boot of the machine.
    pub boot_id: String,
    /// Its devices, each with the slug of its catalogue entry if it is known.
    pub devices: Vec<(DeviceFacts, Option<String>)>,
}

/// By name: a column that a newer server adds must not change what a prepared
/// statement of this one returns.
macro_rules! columns {
    () => {
        "id, name, state, isolation, cpus, memory_mib, disk_mib, info, inventory_version, boot_id, \
         proven_until, seen_at"
    };
}

fn node(row: &AnyRow) -> Outcome<Node> {
    Ok(Node {
        id: parsed(row, "id")?,
        name: row.try_get("name")?,
        state: row.try_get("state")?,
        isolation: row.try_get("isolation")?,
        cpus: row.try_get("cpus")?,
        memory_mib: row.try_get("memory_mib")?,
        disk_mib: row.try_get("disk_mib")?,
        notices: json(row, "info")?,
        inventory_version: row.try_get("inventory_version")?,
        boot_id: row.try_get("boot_id")?,
        proven_until: time(row, "proven_until")?,
        seen_at: time(row, "seen_at")?,
    })
}

/// Stores what an agent tells: the node is found by name or made. Devices that
/// are no longer told are kept as lost, so that their history stays.
pub async fn register(tx: &mut Tx<'_>, inventory: &Inventory, now: Timestamp) -> Outcome<NodeId> {
    let fresh = NodeId::new(now, tx.random());
    let row = sqlx::query(
        "INSERT INTO nodes (id, name, state, info, isolation, cpus, memory_mib, disk_mib, inventory_version, boot_id,
            proven_until, seen_at, created_at)
         VALUES ($1, $2, 'ready', $3, $4, $5, $6, $7, $8, $9, 0, $10, $10)
         ON CONFLICT (name) DO UPDATE SET info = excluded.info, isolation = excluded.isolation, cpus = excluded.cpus,
            memory_mib = excluded.memory_mib, disk_mib = excluded.disk_mib,
            inventory_version = excluded.inventory_version, boot_id = excluded.boot_id, seen_at = excluded.seen_at,
            state = CASE WHEN nodes.state = 'lost' THEN 'ready' ELSE nodes.state END
         RETURNING id",
    )
    .bind(fresh.as_str())
    .bind(inventory.name.as_str())
    .bind(to_json(&inventory.notices)?)
    .bind(inventory.isolation.as_str())
    .bind(inventory.cpus)
    .bind(inventory.memory_mib)
    .bind(inventory.disk_mib)
    .bind(inventory.version)
    .bind(inventory.boot_id.as_str())
    .bind(now.micros())
    .fetch_one(&mut **tx)
    .await?;
    let id: NodeId = parsed(&row, "id")?;
    sqlx::query("UPDATE devices SET state = 'lost' WHERE node_id = $1").bind(id.as_str()).execute(&mut **tx).await?;
    for (facts, gpu) in &inventory.devices {
        let device = base::DeviceId::new(now, tx.random());
        sqlx::query(
            "INSERT INTO devices (id, node_id, uuid, gpu, idx, state, fake, facts)
             VALUES ($1, $2, $3, $4, $5, 'ok', $6, $7)
             ON CONFLICT (uuid) DO UPDATE SET node_id = excluded.node_id, gpu = excluded.gpu, idx = excluded.idx,
                state = 'ok', fake = excluded.fake, facts = excluded.facts",
        )
        .bind(device.as_str())
        .bind(id.as_str())
        .bind(facts.uuid.as_str())
        .bind(gpu.as_deref())
        .bind(facts.index)
        .bind(i64::from(facts.fake))
        .bind(to_json(facts)?)
        .execute(&mut **tx)
        .await?;
    }
    Ok(id)
}

/// One node.
pub async fn get(db: &mut AnyConnection, id: &NodeId) -> Outcome<Option<Node>> {
    let row = sqlx::query(concat!("SELECT ", columns!(), " FROM nodes WHERE id = $1"))
        .bind(id.as_str())
        .fetch_optional(db)
        .await?;
    row.as_ref().map(node).transpose()
}

/// All nodes by name.
pub async fn list(db: &mut AnyConnection) -> Outcome<Vec<Node>> {
    sqlx::query(concat!("SELECT ", columns!(), " FROM nodes ORDER BY name"))
        .fetch_all(db)
        .await?
        .iter()
        .map(node)
        .collect()
}

/// Evidence of a node reaches up to `until` now (never back). Closed segments
/// that waited for it become due.
pub async fn proven(tx: &mut Tx<'_>, id: &NodeId, until: Timestamp, boot_id: &str, now: Timestamp) -> Outcome<()> {
    sqlx::query(
        "UPDATE nodes SET proven_until = CASE WHEN proven_until < $2 THEN $2 ELSE proven_until END, boot_id = $3,
            seen_at = $4, state = CASE WHEN state = 'lost' THEN 'ready' ELSE state END
         WHERE id = $1",
    )
    .bind(id.as_str())
    .bind(until.micros())
    .bind(boot_id)
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    sqlx::query("UPDATE segments SET due_at = $3 WHERE node_id = $1 AND due_at > $3 AND to_at <= $2")
        .bind(id.as_str())
        .bind(until.micros())
        .bind(now.micros())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Marks a node whose agent is out of touch: nobody has heard it since `seen_at`.
/// `true`: it was not marked yet.
pub async fn mark_lost(tx: &mut Tx<'_>, id: &NodeId, seen_at: Timestamp) -> Outcome<bool> {
    let done = sqlx::query("UPDATE nodes SET state = 'lost' WHERE id = $1 AND state = 'ready' AND seen_at = $2")
        .bind(id.as_str())
        .bind(seen_at.micros())
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Sets whether single devices answer; unknown UUIDs are left alone.
pub async fn set_device_state(tx: &mut Tx<'_>, uuid: &str, lost: bool) -> Outcome<()> {
    sqlx::query("UPDATE devices SET state = $2 WHERE uuid = $1")
        .bind(uuid)
        .bind(if lost { "lost" } else { "ok" })
        .execute(&mut **tx)
        .await?;
    Ok(())
}
