//! Renting: funds held, row written, controller due.

use base::{Money, Timestamp};
use serde_json::json;

use crate::idempotency::{self, Key};
use crate::instances::{self, Instance};
use crate::{Outcome, Tx, events, inside, recovery};

/// What became of a rent request.
#[derive(Clone, Debug)]
pub enum Rented {
    /// A new instance.
    New,
    /// The same request was done before; this is the id of its instance.
    Before(String),
}

/// Writes a new instance with its hold.
///
/// # Errors
/// `quota-exceeded`, `not-enough-funds`, `idempotency-mismatch`; nothing is changed then.
pub async fn rent(
    tx: &mut Tx<'_>,
    instance: &Instance,
    hold: Money,
    key: Option<&Key>,
    now: Timestamp,
) -> Outcome<Rented> {
    if let Some(key) = key
        && let Some(id) = idempotency::earlier(tx, key).await?
    {
        return Ok(Rented::Before(id));
    }
    recovery::refuse_wishes(tx).await?;
    super::within_quotas(tx, instance, true, hold, now).await?;
    instances::insert(tx, instance).await?;
    inside::renew(tx, instance, now).await?;
    super::hold(tx, &instance.account, &instance.id, hold, now).await?;
    let message = format!("{} × {} requested", instance.count, instance.gpu);
    let data = json!({ "state": instance.state.as_str(), "rate_micros": instance.rate.micros_per_hour() });
    events::record(tx, now, Some(&instance.account), instance.id.as_str(), "state-changed", &message, &data).await?;
    if let Some(key) = key {
        idempotency::remember(tx, key, instance.id.as_str(), now).await?;
    }
    Ok(Rented::New)
}
