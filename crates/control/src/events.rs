//! Gives every event its place in the stream, and every entry of the audit log its
//! place in the chain, soon after their commit.

use std::time::Duration;

use base::Result;
use engine::Engine;
use futures_util::FutureExt;

use crate::{Clock, Control};

/// Numbers events until the future is dropped.
pub async fn run<C: Clock, E: Engine>(control: Control<C, E>) {
    let mut written = control.store.watch();
    loop {
        written.mark_unchanged();
        let (numbered, chained) = (sequence(&control).await, chain(&control).await);
        if let Err(error) = numbered.and(chained) {
            // Another server may have numbered them at the same moment; the next round sees.
            tracing::debug!(%error, "numbering events is tried again");
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        }
        tokio::select! {
            _ = written.changed() => {}
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
        }
    }
}

/// Numbers what is not numbered yet.
///
/// # Errors
/// The database's; also when another server did it at the same moment.
pub async fn sequence<C: Clock, E: Engine>(control: &Control<C, E>) -> Result<()> {
    let waiting = {
        let mut db = control.store.read().await?;
        store::events::any_unsequenced(&mut db).await?
    };
    if waiting {
        control.store.write(|tx| store::events::sequence(tx).boxed()).await?;
    }
    Ok(())
}

/// Chains the entries of the audit log that are not chained yet.
///
/// # Errors
/// The database's; also when another server did it at the same moment.
pub async fn chain<C: Clock, E: Engine>(control: &Control<C, E>) -> Result<()> {
    let waiting = {
        let mut db = control.store.read().await?;
        store::audit_log::any_fresh(&mut db).await?
    };
    while waiting && control.store.write(|tx| store::audit_log::chain(tx).boxed()).await? > 0 {}
    Ok(())
}
