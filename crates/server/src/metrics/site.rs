//! What the database knows of the whole site.

use base::Result;
use store::lease::{Kind, queue};
use store::{allocations, health, instances};

use super::Values;
use crate::state::App;

pub(super) async fn gather(app: &App) -> Result<Vec<Values>> {
    let mut db = app.store.read().await?;
    let now = app.now();
    let mut queues = Vec::new();
    for kind in Kind::ALL {
        let state = queue(&mut db, kind, now).await?;
        let late = state.next_due.map_or(0, |next| now.since(next).millis().max(0));
        queues.push((kind.as_str(), state.due, late));
    }
    let by_state = instances::count_by_state(&mut db).await?;
    let late = health::late_by_state(&mut db, now).await?;
    let (unsequenced, oldest) = health::unsequenced(&mut db).await?;
    Ok(vec![
        Values::by("queue_due", queues.iter().map(|(kind, due, _)| (*kind, *due))),
        Values::by("queue_oldest_due_milliseconds", queues.iter().map(|(kind, _, late)| (*kind, *late))),
        Values::by("instances", by_state.into_iter().map(|(state, n)| (state.as_str(), n))),
        Values::by("instances_late", late.into_iter().map(|(state, n)| (state.as_str(), n))),
        Values::one("instances_late_untold", health::late_untold(&mut db, now).await?),
        Values::one("devices_allocated", allocations::count_live(&mut db).await?),
        Values::by("incidents_open", health::open_incidents(&mut db).await?),
        Values::one("events_unsequenced", unsequenced),
        Values::one(
            "events_unsequenced_oldest_milliseconds",
            oldest.map_or(0, |oldest| now.since(oldest).millis().max(0)),
        ),
    ])
}
