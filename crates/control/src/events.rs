//! Gives every event its place in the stream, soon after its commit.

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
        if let Err(error) = sequence(&control).await {
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
