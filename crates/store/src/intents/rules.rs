//! Changing the stop rules, also of what runs.

use base::{Error, InstanceId, Timestamp};
use domain::instance::{Desired, State};
use domain::rules::Rules;
use serde_json::json;

use crate::instances::{self, Instance};
use crate::row::to_json;
use crate::{Outcome, Tx, events, recovery};

/// The instance as it is now, locked for the rest of the transaction, so that what
/// its new rules are made from cannot change meanwhile.
///
/// # Errors
/// `not-found`, or `wrong-state` for one that is released.
pub async fn hold_rules(tx: &mut Tx<'_>, id: &InstanceId) -> Outcome<Instance> {
    recovery::refuse_wishes(tx).await?;
    sqlx::query("UPDATE instances SET wishes = wishes WHERE id = $1").bind(id.as_str()).execute(&mut **tx).await?;
    let found = instances::get(tx, id).await?.ok_or_else(|| Error::not_found("the instance"))?;
    if found.desired == Desired::Released || matches!(found.state, State::Releasing | State::Released) {
        return Err(super::refusal(tx, id, Desired::Stopped).await?.into());
    }
    Ok(found)
}

/// Gives an instance, which is held since [`hold_rules`], other rules. Whatever runs
/// obeys them from now on: its controller looks at once.
pub async fn set_rules(
    tx: &mut Tx<'_>,
    i: &Instance,
    rules: &Rules,
    snoozed_until: Option<Timestamp>,
    by: &str,
    now: Timestamp,
) -> Outcome<()> {
    sqlx::query(
        "UPDATE instances SET rules = $2, snoozed_until = $3, wishes = wishes + 1,
            due_at = CASE WHEN state = 'running' THEN $4 ELSE due_at END
         WHERE id = $1",
    )
    .bind(i.id.as_str())
    .bind(to_json(rules)?)
    .bind(snoozed_until.map(Timestamp::micros))
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    let data = json!({ "was": i.rules, "became": rules, "snoozed_until": snoozed_until });
    let message = format!("stop rules changed by {by}");
    events::record(tx, now, Some(&i.account), i.id.as_str(), "rules-changed", &message, &data).await
}
