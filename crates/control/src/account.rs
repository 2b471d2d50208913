//! The money guard: each account is looked at when its money ends, not before.

use base::{AccountId, Cause, Money, Rate, Result, Span, Timestamp};
use billing::guard::{Step, money_ends, next_step, steps_due};
use domain::instance::State;
use engine::Engine;
use futures_util::FutureExt;
use serde_json::json;
use store::instances::Reason;
use store::lease::Lease;
use store::{Outcome, Tx, accounts, events, intents, segments};

use crate::{Clock, Control};

/// Looks at an account: tells the forecasts that are due, stops what runs when
/// the money has ended, and sleeps until the next of these.
///
/// # Errors
/// The database's; the account stays due.
pub async fn step<C: Clock, E: Engine>(control: &Control<C, E>, lease: &Lease) -> Result<()> {
    let now = control.clock.now();
    let own = lease.clone();
    engine::fault::point("account.guard.before");
    let held = control.store.write(move |tx| guard(tx, own.clone(), now).boxed()).await?;
    engine::fault::point("account.guard.after");
    if !held {
        control.metrics.lost_lease("accounts");
    }
    Ok(())
}

/// What an account has and burns at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Posted money less what running instances have used.
    pub left: Money,
    /// What they have used beyond what is posted.
    pub used: Money,
    /// What they burn an hour.
    pub burn: Rate,
    /// When the money ends.
    pub ends: Option<Timestamp>,
}

/// The standing of an account with `balance` and these unsettled segments.
///
/// # Errors
/// Amounts out of range.
pub fn standing(balance: Money, unsettled: &[segments::Segment], now: Timestamp) -> Result<Standing> {
    let (mut used, mut burn) = (Money::ZERO, Rate::ZERO);
    for s in unsettled {
        used = used.plus(billing::segment::due(s.from, s.rate, s.to.unwrap_or(now), s.posted)?)?;
        if s.to.is_none() {
            burn = burn.plus(s.rate)?;
        }
    }
    let left = balance.minus(used)?;
    Ok(Standing { left, used, burn, ends: money_ends(left, burn, now) })
}

async fn guard(tx: &mut Tx<'_>, lease: Lease, now: Timestamp) -> Outcome<bool> {
    let id: AccountId = lease.id.parse()?;
    let Some(account) = accounts::get(tx, &id).await? else {
        return Ok(false);
    };
    let unsettled = segments::unsettled_of(tx, &id).await?;
    let standing = standing(account.balance, &unsettled, now)?;
    let Some(ends) = standing.ends else {
        return accounts::guarded(tx, &id, &lease.token, None, 0).await;
    };
    let due = steps_due(ends, now);
    let rung = i64::try_from(due.len()).unwrap_or(0);
    // A rung that is no longer due (a top-up came) may be told again later. Time alone
    // never takes one back: what is left only shrinks, however it is rounded.
    let told = account.rung.min(rung);
    let next = next_step(ends, now).map_or(now.after(Span::from_secs(1)), |(_, at)| at);
    if !accounts::guarded(tx, &id, &lease.token, Some(next), rung).await? {
        return Ok(false);
    }
    for step in due.iter().skip(usize::try_from(told).unwrap_or(0)) {
        tell(tx, &id, *step, ends, &standing, now).await?;
    }
    if due.contains(&Step::End) {
        stop_all(tx, &unsettled, now).await?;
    }
    Ok(true)
}

async fn tell(
    tx: &mut Tx<'_>,
    id: &AccountId,
    step: Step,
    ends: Timestamp,
    s: &Standing,
    now: Timestamp,
) -> Outcome<()> {
    let (kind, message) = match step {
        Step::DayBefore => ("money-forecast", format!("the money ends at {ends} if everything goes on")),
        Step::TwoHoursBefore => ("money-forecast", format!("the money ends at {ends}, in two hours or less")),
        Step::End => ("money-ended", "the money has ended: what runs is stopped, all data are kept".to_owned()),
    };
    let data = json!({ "ends_at": ends, "left": s.left, "burn": s.burn });
    events::record(tx, now, Some(id), id.as_str(), kind, &message, &data).await
}

async fn stop_all(tx: &mut Tx<'_>, unsettled: &[segments::Segment], now: Timestamp) -> Outcome<()> {
    for segment in unsettled.iter().filter(|s| s.to.is_none()) {
        let reason = Reason {
            rest: State::Stopped,
            cause: Cause::MoneyEnded,
            message: "stopped because the account's money ended; its data are kept".into(),
            hint: Some("add money to the account, then `suanli start`".into()),
        };
        match intents::stop(tx, &segment.instance, &reason, now).await {
            // Whoever else stopped it at this moment did what was wanted.
            Err(store::Fault::App(error)) if error.cause() == Cause::WrongState => {}
            done => done?,
        }
    }
    Ok(())
}
