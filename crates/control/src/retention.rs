//! Removes what the operator does not want to keep any longer.

use std::time::Duration;

use base::{Result, Span};
use engine::Engine;
use futures_util::FutureExt;
use store::audit_log;

use crate::{Clock, Control};

const DAY: Span = Span::from_hours(24);

/// Removes once a day until the future is dropped.
pub async fn run<C: Clock, E: Engine>(control: Control<C, E>) {
    loop {
        match audit_log(&control).await {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "old entries of the audit log were removed"),
            Err(error) => {
                tracing::warn!(%error, "old entries of the audit log could not be removed; tried again");
                tokio::time::sleep(Duration::from_secs(60)).await;
                continue;
            }
        }
        control.clock.sleep_until(control.clock.now().after(DAY)).await;
    }
}

/// Removes entries of the audit log whose time is over; how many.
///
/// # Errors
/// The database's.
pub async fn audit_log<C: Clock, E: Engine>(control: &Control<C, E>) -> Result<u64> {
    let days = audit_log::keep_days(&mut *control.store.read().await?).await?;
    let Some(days) = days else { return Ok(0) };
    let before = control.clock.now().before(Span::from_hours(days.saturating_mul(24)));
    control.store.write(move |tx| audit_log::retain(tx, before).boxed()).await
}
