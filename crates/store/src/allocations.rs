//! Which instance holds which device. The unique index on live rows is the law
//! "one device, one tenant".

use base::{AllocationId, DeviceId, InstanceId, Timestamp};
use domain::device::DeviceFacts;
use sqlx::{AnyConnection, Row};

use crate::row::{json, parsed};
use crate::{Outcome, Tx};

/// Takes a device for an instance. `false`: somebody holds it.
pub async fn take(
    tx: &mut Tx<'_>,
    device: &DeviceId,
    instance: &InstanceId,
    generation: i64,
    now: Timestamp,
) -> Outcome<bool> {
    let id = AllocationId::new(now, tx.random());
    let done = sqlx::query(
        "INSERT INTO allocations (id, device_id, instance_id, generation, created_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING",
    )
    .bind(id.as_str())
    .bind(device.as_str())
    .bind(instance.as_str())
    .bind(generation)
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns every device of an instance to stock.
pub async fn give_back(tx: &mut Tx<'_>, instance: &InstanceId, now: Timestamp) -> Outcome<()> {
    sqlx::query("UPDATE allocations SET released_at = $2 WHERE instance_id = $1 AND released_at IS NULL")
        .bind(instance.as_str())
        .bind(now.micros())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// The devices that an instance holds now, in their node's order.
pub async fn held_by(db: &mut AnyConnection, instance: &InstanceId) -> Outcome<Vec<DeviceFacts>> {
    let rows = sqlx::query(
        "SELECT d.facts AS facts FROM allocations a JOIN devices d ON d.id = a.device_id
         WHERE a.instance_id = $1 AND a.released_at IS NULL ORDER BY d.idx",
    )
    .bind(instance.as_str())
    .fetch_all(db)
    .await?;
    rows.iter().map(|row| json(row, "facts")).collect()
}

/// Live holds as (device, instance), for looking over the whole fleet.
pub async fn live(db: &mut AnyConnection) -> Outcome<Vec<(DeviceId, InstanceId)>> {
    let rows =
        sqlx::query("SELECT device_id, instance_id FROM allocations WHERE released_at IS NULL").fetch_all(db).await?;
    rows.iter().map(|row| Ok((parsed(row, "device_id")?, parsed(row, "instance_id")?))).collect()
}

/// Number of live holds.
pub async fn count_live(db: &mut AnyConnection) -> Outcome<i64> {
    let row = sqlx::query("SELECT COUNT(*) AS n FROM allocations WHERE released_at IS NULL").fetch_one(db).await?;
    Ok(row.try_get("n")?)
}
