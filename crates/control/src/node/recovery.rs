//! A machine looked at while the site is in recovery, and the first time afterwards.

use base::{NodeId, Result};
use engine::{Engine, NodeReport};
use futures_util::FutureExt;
use store::recovery::{self, Seen};

use crate::{Clock, Control};

/// Notes what a machine has if the site is in recovery: `true`, nothing else may
/// be done about it. A machine that was silent when recovery ended is settled now.
pub(super) async fn look<C: Clock, E: Engine>(
    control: &Control<C, E>,
    node: &NodeId,
    report: &NodeReport,
) -> Result<bool> {
    let (recovering, late) = {
        let mut db = control.store.read().await?;
        (recovery::current(&mut db).await?.is_some(), recovery::is_late(&mut db, node).await?)
    };
    if !recovering && !late {
        return Ok(false);
    }
    let seen: Vec<Seen> = report
        .alive
        .iter()
        .map(|alive| Seen {
            id: alive.instance.id.clone(),
            generation: alive.instance.generation,
            running: alive.running,
            ready_at: alive.ready_at,
            devices: alive.devices.clone(),
        })
        .collect();
    let (node, now) = (node.clone(), control.clock.now());
    control
        .store
        .write(move |tx| {
            let (node, seen) = (node.clone(), seen.clone());
            async move {
                if recovery::note(tx, &node, seen.clone()).await? {
                    return Ok(true);
                }
                recovery::settle_late(tx, &node, &seen, now).await?;
                Ok(false)
            }
            .boxed()
        })
        .await
}
