//! Stopping: the meter ends at the moment the stop is accepted.

use base::{InstanceId, Timestamp};
use serde_json::json;

use crate::instances::Reason;
use crate::row::{parsed, to_json};
use crate::{Outcome, Tx, accounts, events, recovery, segments};

/// Accepts a stop, whoever wants it: `reason` says who and why.
///
/// # Errors
/// `wrong-state` when it is not running or about to.
pub async fn stop(tx: &mut Tx<'_>, id: &InstanceId, reason: &Reason, now: Timestamp) -> Outcome<()> {
    recovery::refuse_wishes(tx).await?;
    let row = sqlx::query(
        "UPDATE instances SET desired = 'stopped', reason = $2, wishes = wishes + 1, due_at = $3
         WHERE id = $1 AND desired = 'running' AND state IN ('requested', 'creating', 'starting', 'running')
         RETURNING account_id",
    )
    .bind(id.as_str())
    .bind(to_json(reason)?)
    .bind(now.micros())
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else {
        return Err(super::refusal(tx, id, domain::instance::Desired::Stopped).await?.into());
    };
    let account = parsed(&row, "account_id")?;
    segments::close(tx, id, now, reason.cause.code(), now).await?;
    accounts::nudge(tx, &account, now).await?;
    let data = json!({ "cause": reason.cause });
    events::record(tx, now, Some(&account), id.as_str(), "stop-accepted", &reason.message, &data).await
}
