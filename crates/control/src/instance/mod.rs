//! The instance controller: one file per state, a flat dispatch, one way to
//! write a result.

mod creating;
mod releasing;
mod requested;
mod rest;
mod running;
mod spec;
mod starting;
mod stopping;

use std::sync::Arc;

use base::{Error, InstanceId, Result, Span, Timestamp};
use domain::instance::{Desired, State};
use engine::Engine;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use store::instances::{self, Instance, Reason};
use store::lease::{self, Kind, Lease};
use store::{Outcome, Tx, events, incidents};

use crate::{Clock, Control};

/// What is given to a state's step.
pub(crate) struct Step<'s, C, E> {
    control: &'s Control<C, E>,
    lease: &'s Lease,
    /// The instance as it was when the step began.
    instance: Instance,
    now: Timestamp,
}

/// Steps one claimed instance; the state in which it was.
///
/// # Errors
/// The database's. What an engine refuses is a result, not an error.
pub async fn step<C: Clock, E: Engine>(control: &Control<C, E>, lease: &Lease) -> Result<&'static str> {
    let id: InstanceId = lease.id.parse()?;
    let found = {
        let mut db = control.store.read().await?;
        instances::get(&mut db, &id).await?
    };
    let instance = found.ok_or_else(|| Error::internal(format!("{id} was claimed but is not there")))?;
    let state = instance.state;
    let step = Step { control, lease, instance, now: control.clock.now() };
    match state {
        State::Requested => requested::step(step).await,
        State::Creating => creating::step(step).await,
        State::Starting => starting::step(step).await,
        State::Running => running::step(step).await,
        State::Stopping => stopping::step(step).await,
        State::Stopped | State::Lost | State::Failed | State::Released => rest::step(step).await,
        State::Releasing => releasing::step(step).await,
    }?;
    Ok(state.as_str())
}

/// A change that one transaction makes to the locked instance.
type Change = Arc<dyn for<'t> Fn(&'t mut Tx<'_>, Instance) -> BoxFuture<'t, Outcome<Instance>> + Send + Sync>;

impl<C: Clock, E: Engine> Step<'_, C, E> {
    /// The engine that speaks for the instance's node.
    fn engine(&self) -> Result<Arc<E>> {
        let node = self.instance.node.as_ref().ok_or_else(|| Error::internal("an instance without a node"))?;
        self.control.engines.of(node)
    }

    /// To be called right before anything outside is changed. `false`: somebody took over.
    async fn still_ours(&self) -> Result<bool> {
        let (lease, now) = (self.lease.clone(), self.now);
        let held = self
            .control
            .store
            .write(move |tx| {
                let lease = lease.clone();
                async move { lease::renew(tx, Kind::Instances, &lease, now).await }.boxed()
            })
            .await?;
        if !held {
            self.control.metrics.lost_lease("instances");
        }
        Ok(held)
    }

    /// Applies a change in one transaction, if the lease and generation still
    /// hold. Records a change of state as an event and closes the incident of
    /// the state that was left.
    async fn apply(&self, change: Change) -> Result<()> {
        let (lease, seen, generation) = (self.lease.clone(), self.instance.wishes, self.instance.generation);
        // The step may have taken long: its result belongs to the moment of writing.
        let now = self.control.clock.now();
        let held = self
            .control
            .store
            .write(move |tx| {
                let (lease, change) = (lease.clone(), change.clone());
                async move {
                    let Some(before) = instances::lock(tx, &lease).await? else {
                        return Ok(false);
                    };
                    if before.generation != generation {
                        return Ok(false);
                    }
                    let after = change(tx, before.clone()).await?;
                    if after.state != before.state {
                        moved(tx, &before, &after, now).await?;
                    }
                    instances::save(tx, &lease, &after, seen, now).await
                }
                .boxed()
            })
            .await?;
        if !held {
            self.control.metrics.lost_lease("instances");
        }
        Ok(())
    }

    /// Looks again at `until`, or when the deadline is missed, whichever is first.
    async fn wait(&self, until: Timestamp, why: &'static str) -> Result<()> {
        let now = self.control.clock.now();
        let missed = self.instance.deadline_at.is_some_and(|deadline| deadline <= now);
        let deadline = self.instance.deadline_at.filter(|d| *d > now);
        let until = deadline.map_or(until, |d| until.min(d));
        self.apply(change(move |tx, mut i| {
            async move {
                if missed {
                    let detail = format!("in state {} since {}: {why}", i.state, i.state_since);
                    let action = "look at its node with `suanli node ls` and `suanli doctor`, then release it or repair the node";
                    incidents::open(tx, now, "stuck-state", i.id.as_str(), action, &detail).await?;
                }
                i.due_at = Some(until);
                Ok(i)
            }
            .boxed()
        }))
        .await
    }

    /// Goes to `stopping`, which gives everything back and comes to rest as `reason` says.
    async fn stop_because(&self, reason: Reason) -> Result<()> {
        let now = self.control.clock.now();
        self.apply(change(move |_, mut i| {
            let reason = reason.clone();
            async move {
                // A wish that came from outside meanwhile has the better reason.
                if i.desired == Desired::Running {
                    i.desired = Desired::Stopped;
                    i.reason = Some(reason);
                }
                go(&mut i, State::Stopping, now);
                Ok(i)
            }
            .boxed()
        }))
        .await
    }

    /// Goes to `stopping` because its owner wants it.
    async fn stop_as_wished(&self) -> Result<()> {
        let now = self.control.clock.now();
        self.apply(change(move |_, mut i| {
            async move {
                go(&mut i, State::Stopping, now);
                Ok(i)
            }
            .boxed()
        }))
        .await
    }

    /// Whether the state's deadline has passed.
    fn is_overdue(&self) -> bool {
        self.instance.deadline_at.is_some_and(|deadline| deadline <= self.now)
    }
}

/// A change as a shared function.
fn change<F>(f: F) -> Change
where
    F: for<'t> Fn(&'t mut Tx<'_>, Instance) -> BoxFuture<'t, Outcome<Instance>> + Send + Sync + 'static,
{
    Arc::new(f)
}

/// Moves an instance into a state: its clock, its deadline, and when it is due.
fn go(instance: &mut Instance, next: State, now: Timestamp) {
    instance.state = next;
    instance.state_since = now;
    instance.deadline_at = next.row().deadline.map(|d| now.after(d));
    instance.due_at = (!next.is_at_rest()).then_some(now);
}

async fn moved(tx: &mut Tx<'_>, before: &Instance, after: &Instance, now: Timestamp) -> Outcome<()> {
    if !before.state.may_become(after.state) {
        let what = format!("{} must not go from {} to {}", after.id, before.state, after.state);
        return Err(Error::internal(what).into());
    }
    let why = after.reason.as_ref().filter(|_| after.state.is_at_rest() || after.state == State::Stopping);
    let message = why.map_or_else(|| after.state.row().meaning.to_owned(), |r| r.message.clone());
    let data = json!({
        "from": before.state, "to": after.state, "generation": after.generation,
        "cause": why.map(|r| r.cause),
    });
    events::record(tx, now, Some(&after.account), after.id.as_str(), "state-changed", &message, &data).await?;
    incidents::close(tx, now, "stuck-state", after.id.as_str()).await
}

/// Longer and longer, the longer a state lasts: a tenth of its age, between a
/// quarter of a second and ten seconds.
fn patience(since: Timestamp, now: Timestamp) -> Span {
    Span::from_micros((now.since(since).micros() / 10).clamp(250_000, 10_000_000))
}
