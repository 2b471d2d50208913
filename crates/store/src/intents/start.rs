//! Starting again, at the price of today.

use base::{InstanceId, Money, Timestamp};
use domain::instance::{Desired, State};
use serde_json::json;

use crate::instances::Instance;
use crate::row::to_json;
use crate::{Outcome, Tx, events, inside, recovery};

/// What a start may change.
#[derive(Clone, Debug)]
pub struct Restart {
    /// The instance with its new model, count, size, rate, price version and rules.
    pub instance: Instance,
    /// What has to be held for it.
    pub hold: Money,
}

/// Accepts a start of an instance at rest: a new generation, a new hold.
///
/// # Errors
/// `wrong-state`, `quota-exceeded`, `not-enough-funds`; nothing is changed then.
pub async fn start(tx: &mut Tx<'_>, id: &InstanceId, restart: &Restart, now: Timestamp) -> Outcome<()> {
    recovery::refuse_wishes(tx).await?;
    let i = &restart.instance;
    super::within_quotas(tx, i, false, restart.hold, now).await?;
    // No step of an older generation may apply its result, so its lease must not delay this one.
    let deadline = State::Requested.row().deadline.map(|d| now.after(d));
    let done = sqlx::query(
        "UPDATE instances SET desired = 'running', state = 'requested', state_since = $2, deadline_at = $3, due_at = $2,
            wishes = wishes + 1, generation = generation + 1, gpu = $4, count = $5, cpus = $6, memory_mib = $7,
            disk_mib = $8, rate = $9, price_version = $10, rules = $11, reason = NULL, notices = '[]', ready_at = NULL,
            on_start_exit = NULL, snoozed_until = NULL, lease_token = NULL, lease_until = 0
         WHERE id = $1 AND state IN ('stopped', 'lost', 'failed') AND desired <> 'released'",
    )
    .bind(id.as_str())
    .bind(now.micros())
    .bind(deadline.map(Timestamp::micros))
    .bind(i.gpu.as_str())
    .bind(i.count)
    .bind(i.cpus)
    .bind(i.memory_mib)
    .bind(i.disk_mib)
    .bind(i.rate.micros_per_hour())
    .bind(i.price_version.as_str())
    .bind(to_json(&i.rules)?)
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 0 {
        return Err(super::refusal(tx, id, Desired::Running).await?.into());
    }
    inside::renew(tx, i, now).await?;
    super::hold(tx, &i.account, id, restart.hold, now).await?;
    let data = json!({ "state": "requested", "rate_micros": i.rate.micros_per_hour() });
    events::record(tx, now, Some(&i.account), id.as_str(), "state-changed", "start requested", &data).await
}
