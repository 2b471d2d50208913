//! What people and rules want of an instance, each as one transaction.
//!
//! An intent never touches the outside world: it changes what is desired, the
//! money that is promised and the time that is billed, and makes the controller due.

mod release;
mod rent;
mod rules;
mod start;
mod stop;

pub use release::release;
pub use rent::{Rented, rent};
pub use rules::{hold_rules, set_rules};
pub use start::{Restart, start};
pub use stop::stop;

use base::{AccountId, Cause, Error, InstanceId, Money, Timestamp};
use domain::instance::{Desired, may_ask};

use crate::instances::Instance;
use crate::quotas::{self, Asked};
use crate::{Outcome, Tx, accounts, instances};

/// Promises the hold for a start, or says how much is missing.
async fn hold(
    tx: &mut Tx<'_>,
    account: &AccountId,
    instance: &InstanceId,
    amount: Money,
    now: Timestamp,
) -> Outcome<()> {
    let used = crate::accounts_used(tx, account, now).await?;
    if accounts::hold(tx, account, instance, amount, used).await? {
        return Ok(());
    }
    let Some(row) = accounts::get(tx, account).await? else {
        return Err(Error::not_found("the account").into());
    };
    let free = row.balance.minus(row.held)?.minus(used)?;
    let missing = amount.minus(free)?;
    Err(Error::new(
        Cause::NotEnoughFunds,
        format!("a start needs {amount} {0} in the account, {free} {0} is free", row.currency),
    )
    .hint(format!("add at least {missing} {}, or stop something that runs", row.currency))
    .into())
}

/// Makes sure that the account may have this too.
async fn within_quotas(tx: &mut Tx<'_>, i: &Instance, new: bool, hold: Money, now: Timestamp) -> Outcome<()> {
    let asked = Asked {
        account: &i.account,
        project: i.project.as_ref(),
        instance: &i.id,
        new,
        gpu: &i.gpu,
        count: i.count,
        disk_mib: i.disk_mib,
        hold,
    };
    quotas::check(tx, &asked, now).await
}

/// The true refusal when a conditional update found nothing to change.
async fn refusal(tx: &mut Tx<'_>, id: &InstanceId, desired: Desired) -> Outcome<Error> {
    let Some(instance) = instances::get(tx, id).await? else {
        return Ok(Error::not_found("the instance"));
    };
    Ok(match may_ask(instance.state, instance.desired, desired) {
        Err(error) => error,
        Ok(()) => Error::new(Cause::Unavailable, "the instance changed at this very moment").hint("try again"),
    })
}
