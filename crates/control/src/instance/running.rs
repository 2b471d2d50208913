//! Proven ready, usable. Looked at only when a stop rule may fire.

use base::{Money, Result, Span, Timestamp};
use domain::instance::{Desired, State};
use domain::rules::{RunFacts, Verdict};
use engine::Engine;
use futures_util::FutureExt;
use store::instances::Reason;
use store::segments;
use store::{accounts, intents};

use super::{Step, change, go};
use crate::Clock;

/// When to ask an engine again that did not answer about activity.
const PROBE_AGAIN: Span = Span::from_secs(5);

pub(super) async fn step<C: Clock, E: Engine>(step: Step<'_, C, E>) -> Result<()> {
    if step.instance.desired != Desired::Running {
        return step.stop_as_wished().await;
    }
    let (facts, activity) = facts(&step).await?;
    let unknown = step.instance.rules.idle.is_some() && activity.is_none();
    let now = step.control.clock.now();
    match step.instance.rules.verdict(now, &facts) {
        Verdict::Continue { next } => look_again(&step, next, unknown).await,
        Verdict::Stop { cause, why } => {
            let message = match activity {
                Some(activity) if cause == base::Cause::Idle => format!("{why}; {activity}"),
                _ => why,
            };
            let reason = Reason {
                rest: State::Stopped,
                cause,
                message,
                hint: Some("its data are kept; `suanli start` starts it again".into()),
            };
            engine::fault::point("instance.running.before-rule-stop");
            stop(&step, reason, now).await
        }
    }
}

/// What the rules look at. A probe that fails counts as activity: nobody loses a
/// run because a question was not answered.
async fn facts<C: Clock, E: Engine>(step: &Step<'_, C, E>) -> Result<(RunFacts, Option<String>)> {
    let all = {
        let mut db = step.control.store.read().await?;
        segments::of_instance(&mut db, &step.instance.id).await?
    };
    let mut spent_before = Money::ZERO;
    for s in all.iter() {
        if let Some(to) = s.to {
            spent_before = spent_before.plus(billing::segment::charge_until(s.from, s.rate, to)?)?;
        }
    }
    let ready_at = step.instance.ready_at.unwrap_or(step.now);
    let (mut last_active_at, mut activity) = (ready_at, None);
    if step.instance.rules.idle.is_some() {
        let stats = match step.engine() {
            Ok(engine) => engine.stats(&step.instance.id).await,
            Err(error) => Err(error),
        };
        match stats {
            Ok(stats) => {
                last_active_at = stats.last_active_at.max(ready_at);
                activity = Some(stats.activity);
            }
            Err(error) => {
                tracing::warn!(%error, id = %step.instance.id, "activity is unknown; it counts as active");
                last_active_at = step.now;
            }
        }
    }
    let segment_from = all.iter().find(|s| s.to.is_none()).map(|s| s.from);
    let (rate, snoozed_until) = (step.instance.rate, step.instance.snoozed_until);
    Ok((RunFacts { ready_at, last_active_at, rate, spent_before, segment_from, snoozed_until }, activity))
}

async fn look_again<C: Clock, E: Engine>(step: &Step<'_, C, E>, next: Option<Timestamp>, unknown: bool) -> Result<()> {
    // Never at once: a rule whose instant is reached but which does not fire would spin.
    let next = next.map(|n| n.max(step.now.after(Span::from_millis(250))));
    let again = unknown.then(|| step.now.after(PROBE_AGAIN));
    let next = next.into_iter().chain(again).min();
    step.apply(change(move |_, mut i| {
        async move {
            i.due_at = next;
            Ok(i)
        }
        .boxed()
    }))
    .await
}

/// The same as a stop by the renter, in one transaction with the change of state.
async fn stop<C: Clock, E: Engine>(step: &Step<'_, C, E>, reason: Reason, now: Timestamp) -> Result<()> {
    step.apply(change(move |tx, mut i| {
        let reason = reason.clone();
        async move {
            if i.desired == Desired::Running {
                intents::stop(tx, &i.id, &reason, now).await?;
                accounts::nudge(tx, &i.account, now).await?;
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
