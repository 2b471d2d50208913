//! The fleet as placement and offers see it.

use base::{DeviceId, InstanceId, NodeId};
use domain::device::DeviceFacts;
use sqlx::{AnyConnection, Row};

use crate::Outcome;
use crate::row::{json, parsed, parsed_opt};

/// One device and who holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetDevice {
    /// Id.
    pub id: DeviceId,
    /// Its node.
    pub node: NodeId,
    /// Slug of its catalogue entry.
    pub gpu: Option<String>,
    /// Whether it answers.
    pub ok: bool,
    /// Who holds it.
    pub held_by: Option<InstanceId>,
    /// What it is.
    pub facts: DeviceFacts,
}

/// CPU and memory that instances take on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeUse {
    /// The node.
    pub node: NodeId,
    /// CPU cores.
    pub cpus: i64,
    /// Memory, MiB.
    pub memory_mib: i64,
}

/// Every device, or those of one GPU model (empty: all), by node and position.
pub async fn devices(db: &mut AnyConnection, gpu: &str) -> Outcome<Vec<FleetDevice>> {
    let rows = sqlx::query(
        "SELECT d.id AS id, d.node_id AS node_id, d.gpu AS gpu, d.state AS state, d.facts AS facts,
            a.instance_id AS held_by
         FROM devices d LEFT JOIN allocations a ON a.device_id = d.id AND a.released_at IS NULL
         WHERE $1 = '' OR d.gpu = $1 ORDER BY d.node_id, d.idx",
    )
    .bind(gpu)
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(FleetDevice {
                id: parsed(row, "id")?,
                node: parsed(row, "node_id")?,
                gpu: row.try_get("gpu")?,
                ok: row.try_get::<String, _>("state")? == "ok",
                held_by: parsed_opt(row, "held_by")?,
                facts: json(row, "facts")?,
            })
        })
        .collect()
}

/// What instances take on each node, from the moment they are placed until
/// their cards are given back.
pub async fn usage(db: &mut AnyConnection) -> Outcome<Vec<NodeUse>> {
    let rows = sqlx::query(
        "SELECT node_id, CAST(SUM(cpus) AS BIGINT) AS cpus, CAST(SUM(memory_mib) AS BIGINT) AS memory_mib
         FROM instances WHERE node_id IS NOT NULL AND state IN ('creating', 'starting', 'running', 'stopping')
         GROUP BY node_id",
    )
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(NodeUse {
                node: parsed(row, "node_id")?,
                cpus: row.try_get("cpus")?,
                memory_mib: row.try_get("memory_mib")?,
            })
        })
        .collect()
}

/// How many devices of one model a node has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stock {
    /// Slug of the model.
    pub gpu: String,
    /// How the node keeps instances apart.
    pub isolation: String,
    /// Whether the node takes new instances.
    pub ready: bool,
    /// Whether the devices are not real.
    pub fake: bool,
    /// Devices that work.
    pub total: i64,
    /// Of these, held by nobody.
    pub free: i64,
}

/// Stock by model and node; of one model only, or (empty) of all.
pub async fn stock(db: &mut AnyConnection, gpu: &str) -> Outcome<Vec<Stock>> {
    let rows = sqlx::query(
        "SELECT d.gpu AS gpu, n.isolation AS isolation, n.state AS state, d.fake AS fake,
            CAST(COUNT(*) AS BIGINT) AS total,
            CAST(SUM(CASE WHEN a.id IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS free
         FROM devices d JOIN nodes n ON n.id = d.node_id
            LEFT JOIN allocations a ON a.device_id = d.id AND a.released_at IS NULL
         WHERE d.gpu IS NOT NULL AND d.state = 'ok' AND ($1 = '' OR d.gpu = $1)
         GROUP BY d.gpu, d.node_id, n.isolation, n.state, d.fake",
    )
    .bind(gpu)
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(Stock {
                gpu: row.try_get("gpu")?,
                isolation: row.try_get("isolation")?,
                ready: row.try_get::<String, _>("state")? == "ready",
                fake: row.try_get::<i64, _>("fake")? == 1,
                total: row.try_get("total")?,
                free: row.try_get("free")?,
            })
        })
        .collect()
}
