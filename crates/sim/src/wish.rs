//! What people ask of a server, done as its routes do it.

use std::collections::BTreeMap;

use base::{AccountId, Cause, InstanceId, Money, Rate, Slug, Span, Timestamp, UserId};
use billing::Plan;
use billing::ledger::Posting;
use domain::instance::{Desired, State};
use domain::rules::Rules;
use futures_util::FutureExt;
use store::idempotency::Key;
use store::instances::{Instance, Reason};
use store::intents::{self, Rented, Restart};
use store::{Store, accounts, instances, postings, prices};

/// Slug of the model of every card here.
pub const GPU: &str = "a100-sxm4-40g";

/// An hour, for which every start has to hold money.
const HOUR_MS: i64 = 3_600_000;

/// What is asked for, with everything that the asker knows.
#[derive(Clone, Debug)]
pub enum Asked {
    /// Rent.
    Rent(Box<Instance>, Option<String>),
    /// Stop.
    Stop(InstanceId),
    /// Start.
    Start(InstanceId),
    /// Release.
    Release(InstanceId),
    /// Pay in.
    TopUp(AccountId, Money, String),
    /// A new price book.
    Prices(String),
}

/// What a server answers.
#[derive(Clone, Debug)]
pub enum Answered {
    /// Done.
    Done,
    /// There is this instance.
    Rented(InstanceId),
}

/// A new instance as the route would write it.
pub fn instance(
    count: u128,
    account: &AccountId,
    user: &UserId,
    (per_ms, cards, rules): (i64, i64, u8),
    now: Timestamp,
) -> Instance {
    Instance {
        id: InstanceId::new(now, count),
        slug: Slug::new(count),
        account: account.clone(),
        created_by: user.clone(),
        name: format!("job-{count}"),
        project: None,
        desired: Desired::Running,
        state: State::Requested,
        state_since: now,
        deadline_at: State::Requested.row().deadline.map(|d| now.after(d)),
        due_at: Some(now),
        wishes: 0,
        generation: 1,
        node: None,
        gpu: GPU.into(),
        count: cards,
        cpus: 2,
        memory_mib: 1_024,
        disk_mib: 1_024,
        plan: Plan::OnDemand,
        // Whole micro-units a millisecond, so that no piece of a run loses anything to rounding.
        rate: Rate::from_micros_per_hour(per_ms * HOUR_MS),
        price_version: String::new(),
        env: BTreeMap::new(),
        on_start: None,
        on_start_exit: None,
        rules: rules_of(rules, per_ms),
        snoozed_until: None,
        reason: None,
        notices: vec![],
        ready_at: None,
        created_at: now,
        released_at: None,
    }
}

fn rules_of(n: u8, per_ms: i64) -> Rules {
    match n {
        0 => Rules { idle: Some(Span::from_secs(1_800)), ..Rules::OFF },
        1 => Rules { after: Some(Span::from_secs(3_000)), ..Rules::OFF },
        2 => Rules { budget: Some(Money::from_micros(per_ms * 2_000_000)), ..Rules::OFF },
        _ => Rules::OFF,
    }
}

fn by_renter(what: &str) -> Reason {
    Reason { rest: State::Stopped, cause: Cause::ByRenter, message: format!("{what} by its renter"), hint: None }
}

/// Does what is asked, as of `now`.
///
/// # Errors
/// What the store refuses.
pub async fn ask(store: Store, asked: Asked, user: UserId, now: Timestamp) -> base::Result<Answered> {
    match asked {
        Asked::Rent(instance, key) => rent(&store, *instance, key, user, now).await,
        Asked::Start(id) => start(&store, id, now).await.map(|()| Answered::Done),
        Asked::Stop(id) => store
            .write(move |tx| {
                let id = id.clone();
                async move { intents::stop(tx, &id, &by_renter("stopped"), now).await }.boxed()
            })
            .await
            .map(|()| Answered::Done),
        Asked::Release(id) => store
            .write(move |tx| {
                let id = id.clone();
                async move { intents::release(tx, &id, &by_renter("released"), now).await }.boxed()
            })
            .await
            .map(|()| Answered::Done),
        Asked::TopUp(account, amount, cause) => {
            let posting = Posting::top_up(account.clone(), "manual", amount, cause, now)?;
            store
                .write(move |tx| {
                    let (posting, account) = (posting.clone(), account.clone());
                    async move {
                        postings::post(tx, &posting, &account, None).await?;
                        accounts::nudge(tx, &account, now).await
                    }
                    .boxed()
                })
                .await
                .map(|()| Answered::Done)
        }
        Asked::Prices(version) => store
            .write(move |tx| {
                let version = version.clone();
                async move { prices::load(tx, &version, &version, now).await }.boxed()
            })
            .await
            .map(|()| Answered::Done),
    }
}

async fn rent(
    store: &Store,
    mut instance: Instance,
    key: Option<String>,
    user: UserId,
    now: Timestamp,
) -> base::Result<Answered> {
    let book = {
        let mut db = store.read().await?;
        prices::current(&mut db).await?
    };
    instance.price_version = book.map(|b| b.version).unwrap_or_default();
    let (id, hold) = (instance.id.clone(), instance.rate.charge(HOUR_MS)?);
    let key = key.map(|key| Key { user, key, request: "rent".into() });
    let done = store
        .write(move |tx| {
            let (instance, key) = (instance.clone(), key.clone());
            async move { intents::rent(tx, &instance, hold, key.as_ref(), now).await }.boxed()
        })
        .await?;
    Ok(match done {
        Rented::New => Answered::Rented(id),
        Rented::Before(id) => Answered::Rented(id.parse()?),
    })
}

async fn start(store: &Store, id: InstanceId, now: Timestamp) -> base::Result<()> {
    let found = {
        let mut db = store.read().await?;
        instances::get(&mut db, &id).await?
    };
    let instance = found.ok_or_else(|| base::Error::not_found("the instance"))?;
    let restart = Restart { hold: instance.rate.charge(HOUR_MS)?, instance };
    store
        .write(move |tx| {
            let (id, restart) = (id.clone(), restart.clone());
            async move { intents::start(tx, &id, &restart, now).await }.boxed()
        })
        .await
}
