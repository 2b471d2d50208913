//! Releasing: gone for good. A running instance is stopped first.

use base::{InstanceId, Timestamp};
use domain::instance::Desired;
use serde_json::json;

use crate::instances::Reason;
use crate::row::{parsed, to_json};
use crate::{Outcome, Tx, accounts, events, inside, recovery, segments};

/// Accepts a release. Repeating it is refused only once it is released.
///
/// # Errors
/// `wrong-state` when it is released already.
pub async fn release(tx: &mut Tx<'_>, id: &InstanceId, reason: &Reason, now: Timestamp) -> Outcome<()> {
    recovery::refuse_wishes(tx).await?;
    let row = sqlx::query(
        "UPDATE instances SET desired = 'released', wishes = wishes + 1, due_at = $3,
            reason = CASE WHEN state IN ('stopped', 'lost', 'failed') THEN reason ELSE $2 END
         WHERE id = $1 AND state <> 'released' RETURNING account_id",
    )
    .bind(id.as_str())
    .bind(to_json(reason)?)
    .bind(now.micros())
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else {
        return Err(super::refusal(tx, id, Desired::Released).await?.into());
    };
    let account = parsed(&row, "account_id")?;
    inside::end(tx, id).await?;
    segments::close(tx, id, now, reason.cause.code(), now).await?;
    accounts::nudge(tx, &account, now).await?;
    let data = json!({ "cause": reason.cause });
    events::record(tx, now, Some(&account), id.as_str(), "release-accepted", "the instance is released", &data).await
}
