//! Accepted, waiting for cards.

use std::collections::BTreeMap;

use base::{Cause, Error, Result};
use domain::instance::{Desired, State};
use engine::Engine;
use futures_util::FutureExt;
use placement::{Device, Node, Placement, Request};
use store::instances::{Instance, Reason};
use store::{accounts, allocations, fleet, nodes};

use super::{Step, change, go};
use crate::{Clock, Control};

pub(super) async fn step<C: Clock, E: Engine>(step: Step<'_, C, E>) -> Result<()> {
    if step.instance.desired != Desired::Running {
        return step.stop_as_wished().await;
    }
    let _one_at_a_time = step.control.placing.lock().await;
    let nodes = snapshot(step.control, &step.instance.gpu).await?;
    match placement::place(&nodes, &request(&step.instance)) {
        Ok(found) => take(&step, found).await,
        Err(refusal) => fail(&step, refusal).await,
    }
}

fn request(instance: &Instance) -> Request {
    Request {
        gpu: instance.gpu.clone(),
        count: instance.count,
        cpus: instance.cpus,
        memory_mib: instance.memory_mib,
        isolation: None,
        pinned: instance.node.clone(),
    }
}

async fn take<C: Clock, E: Engine>(step: &Step<'_, C, E>, found: Placement) -> Result<()> {
    let now = step.control.clock.now();
    engine::fault::point("instance.requested.before-allocation");
    let done = step
        .apply(change(move |tx, mut i| {
            let found = found.clone();
            async move {
                if i.desired != Desired::Running {
                    go(&mut i, State::Stopping, now);
                    return Ok(i);
                }
                for device in &found.devices {
                    if !allocations::take(tx, device, &i.id, i.generation, now).await? {
                        // Nothing of this transaction stays; the next activation sees the fleet as it is then.
                        return Err(Error::new(Cause::LostRace, "somebody took the card at this very moment").into());
                    }
                }
                i.node = Some(found.node.clone());
                go(&mut i, State::Creating, now);
                Ok(i)
            }
            .boxed()
        }))
        .await;
    engine::fault::point("instance.requested.after-allocation");
    match done {
        Err(error) if error.cause() == Cause::LostRace => step.wait(now, "another request took the card").await,
        done => done,
    }
}

async fn fail<C: Clock, E: Engine>(step: &Step<'_, C, E>, refusal: Error) -> Result<()> {
    let now = step.control.clock.now();
    step.apply(change(move |tx, mut i| {
        let reason = Reason::of(&refusal, State::Failed);
        async move {
            if i.desired != Desired::Running {
                go(&mut i, State::Stopping, now);
                return Ok(i);
            }
            accounts::unhold(tx, &i.id).await?;
            i.desired = Desired::Stopped;
            i.reason = Some(reason);
            go(&mut i, State::Failed, now);
            Ok(i)
        }
        .boxed()
    }))
    .await
}

/// The fleet as far as one GPU model is concerned.
async fn snapshot<C: Clock, E: Engine>(control: &Control<C, E>, gpu: &str) -> Result<Vec<Node>> {
    let mut db = control.store.read().await?;
    let devices = fleet::devices(&mut db, gpu).await?;
    let used: BTreeMap<_, _> = fleet::usage(&mut db).await?.into_iter().map(|u| (u.node.clone(), u)).collect();
    let all = nodes::list(&mut db).await?;
    let mut by_node: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for device in devices {
        by_node.entry(device.node.clone()).or_default().push(device);
    }
    let node = |n: nodes::Node| {
        let on_it = by_node.remove(&n.id).unwrap_or_default();
        let positions: BTreeMap<_, _> = on_it.iter().map(|d| (d.facts.uuid.clone(), d.facts.index)).collect();
        let device = |d: fleet::FleetDevice| Device {
            id: d.id,
            index: d.facts.index,
            gpu: d.gpu,
            free: d.ok && d.held_by.is_none(),
            ok: d.ok,
            linked_to: d.facts.links.iter().filter_map(|l| positions.get(&l.peer).copied()).collect(),
        };
        let (cpus, memory) = used.get(&n.id).map_or((0, 0), |u| (u.cpus, u.memory_mib));
        // A fake fleet is larger than the machine that plays it: there CPU and memory are shared, and said to be.
        let plenty = on_it.iter().any(|d| d.facts.fake).then_some(i64::MAX);
        Node {
            name: n.name,
            ready: n.state == "ready" && control.engines.of(&n.id).is_ok(),
            isolation: n.isolation,
            free_cpus: plenty.unwrap_or(n.cpus - cpus),
            free_memory_mib: plenty.unwrap_or(n.memory_mib - memory),
            devices: on_it.into_iter().map(device).collect(),
            id: n.id,
        }
    };
    Ok(all.into_iter().map(node).collect())
}
