//! The laws, and how a broken one is told.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use base::{Cause, Error, Money, Rate, Span, Timestamp};
use control::account::standing;
use domain::instance::{Desired, State};
use store::events::Audience;
use store::instances::Instance;
use store::{accounts, allocations, audit, health, instances, postings, segments};

use crate::wire::lock;
use crate::world::World;

/// Most rows that are ever looked at.
const ALL: i64 = 1_000_000;

/// How long a guard may take from the end of the money to the stop.
const REACTION: Span = Span::from_secs(2);

/// A law that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The law, in a sentence.
    pub law: &'static str,
    /// What was found.
    pub detail: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.law, self.detail)
    }
}

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Self::new("the database answers", format!("{error:?}"))
    }
}

impl From<store::Fault> for Broken {
    fn from(fault: store::Fault) -> Self {
        Error::from(fault).into()
    }
}

impl Broken {
    /// This law, broken like this.
    pub fn new(law: &'static str, detail: impl Into<String>) -> Self {
        Self { law, detail: detail.into() }
    }

    /// The world itself could not be made.
    pub fn world(error: impl fmt::Debug) -> Self {
        Self::new("a world can be made", format!("{error:?}"))
    }

    /// A task came to an end in a way of its own.
    pub fn panicked(error: impl fmt::Debug) -> Self {
        Self::new("a task never panics", format!("{error:?}"))
    }

    /// Refusals are answers; our own faults are not.
    ///
    /// # Errors
    /// `error` is an internal one.
    pub fn unless_expected(what: &str, error: &Error) -> Result<(), Self> {
        if error.cause() == Cause::Internal {
            return Err(Self::new("nothing internal reaches a caller", format!("{what}: {error:?}")));
        }
        Ok(())
    }
}

fn law(holds: bool, law: &'static str, detail: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken::new(law, detail())) }
}

impl World {
    /// The laws that hold at any moment; `all` looks at the dearer ones too.
    pub async fn check(&mut self, all: bool) -> Result<(), Broken> {
        for machine in &self.machines {
            if let Some(broken) = lock(machine).broken() {
                return Err(Broken::new("a machine never gets orders that it must not get", broken));
            }
        }
        let found = self.store.snapshot(|db| Box::pin(audit::run(db))).await?;
        law(found.differences.is_empty(), "the books are right", || found.differences.join("; "))?;
        for (key, ids) in &self.keys {
            law(ids.len() == 1, "the same request is done once", || format!("{key}: {ids:?}"))?;
        }
        self.engines_hold_what_is_allocated().await?;
        if all {
            self.followed_all(false).await?;
            self.charged_at_most().await?;
        }
        Ok(())
    }

    /// Whatever runs on a machine holds, in the books, the cards that it has there.
    async fn engines_hold_what_is_allocated(&self) -> Result<(), Broken> {
        let mut db = self.store.read().await?;
        let mut tenants = BTreeMap::new();
        for (device, instance) in allocations::live(&mut db).await? {
            if let Some(other) = tenants.insert(device.clone(), instance.clone()) {
                return Err(Broken::new("one device, one tenant", format!("{device}: {other} and {instance}")));
            }
        }
        let mut where_it_runs = BTreeSet::new();
        for machine in &self.machines {
            for alive in lock(machine).alive().into_iter().filter(|a| a.running) {
                let id = alive.instance.id;
                law(where_it_runs.insert(id.clone()), "an instance runs in one place", || id.to_string())?;
            }
        }
        Ok(())
    }

    /// All instances of all accounts, oldest first.
    pub async fn instances(&self) -> Result<Vec<Instance>, Broken> {
        let mut db = self.store.read().await?;
        let mut all = Vec::new();
        for account in &self.accounts {
            all.extend(instances::list(&mut db, account, None, true, None, ALL).await?);
        }
        all.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(all)
    }

    /// What holds when everything is repaired and has come to an end.
    pub async fn at_rest(&mut self) -> Result<(), Broken> {
        self.check(true).await?;
        let all = self.instances().await?;
        let now = self.now();
        let mut db = self.store.read().await?;
        let live = allocations::live(&mut db).await?;
        let mut held: BTreeMap<_, Money> = BTreeMap::new();
        for i in &all {
            let cards = live.iter().filter(|(_, id)| *id == i.id).count();
            let wished = match i.desired {
                Desired::Running => i.state == State::Running,
                Desired::Stopped => matches!(i.state, State::Stopped | State::Lost | State::Failed),
                Desired::Released => i.state == State::Released,
            };
            law(wished, "what was accepted is carried out", || {
                format!("{} is {} and should be {} ({:?})", i.id, i.state, i.desired.as_str(), i.reason)
            })?;
            let right = if i.state == State::Running { i.count } else { 0 };
            law(i64::try_from(cards) == Ok(right), "what rests holds no card", || {
                format!("{} is {} with {cards} cards", i.id, i.state)
            })?;
            if i.state == State::Running {
                let sum = held.entry(i.account.clone()).or_default();
                *sum = sum.plus(i.rate.charge(3_600_000)?)?;
            } else {
                law(i.due_at.is_none(), "what rests is not due", || format!("{} is {}", i.id, i.state))?;
            }
            for s in segments::of_instance(&mut db, &i.id).await? {
                let right = if s.to.is_none() { i.state == State::Running } else { s.due_at.is_none() };
                law(right, "what is over is settled", || format!("{} of {}: {:?}", s.id, i.id, s))?;
            }
        }
        for account in &self.accounts {
            let row = accounts::get(&mut db, account).await?;
            let (said, sum) = (row.as_ref().map(|a| a.held), held.get(account).copied().unwrap_or_default());
            law(said == Some(sum), "what rests holds no money", || format!("{account}: {said:?} is not {sum}"))?;
            let unsettled = segments::unsettled_of(&mut db, account).await?;
            let balance = row.as_ref().map(|a| a.balance).unwrap_or_default();
            if let Some(ends) = standing(balance, &unsettled, now)?.ends {
                let due_at = row.as_ref().and_then(|a| a.due_at);
                let right = due_at.is_some_and(|at| at <= ends.max(now).after(REACTION));
                law(right, "the guard looks before the money ends", || {
                    format!("{account}: its money ends at {ends}, the guard looks at {due_at:?}")
                })?;
            }
        }
        let untold = health::late_untold(&mut db, now.before(Span::from_secs(60))).await?;
        law(untold == 0, "no state waits for ever", || format!("{untold} instances are late and nobody was told"))?;
        drop(db);
        self.machines_agree(&all)?;
        self.payments().await?;
        self.followed_all(true).await?;
        self.charged_exactly().await
    }

    fn machines_agree(&self, all: &[Instance]) -> Result<(), Broken> {
        let said: BTreeSet<_> =
            all.iter().filter(|i| i.state == State::Running).map(|i| (i.id.clone(), i.generation)).collect();
        let truth: Vec<_> = self.machines.iter().flat_map(|m| lock(m).alive()).collect();
        let runs: BTreeSet<_> =
            truth.iter().filter(|a| a.running).map(|a| (a.instance.id.clone(), a.instance.generation)).collect();
        law(said == runs, "books and machines agree about what runs", || format!("books {said:?}, machines {runs:?}"))?;
        for alive in &truth {
            let running = said.contains(&(alive.instance.id.clone(), alive.instance.generation));
            law(running || alive.devices.is_empty(), "nothing is left on a machine", || {
                format!("{} holds {:?} there", alive.instance.id, alive.devices)
            })?;
        }
        for i in all {
            let there = self.machines.iter().any(|m| lock(m).has_data(&i.id));
            let ever = self.machines.iter().any(|m| lock(m).runs().iter().any(|r| r.id == i.id));
            let known = i.ready_at.is_some() || i.generation > 1;
            if i.state == State::Released {
                law(!there, "what is released is gone", || i.id.to_string())?;
            } else if ever && known {
                law(there || i.generation > 1, "data are kept until a release", || i.id.to_string())?;
            }
        }
        Ok(())
    }

    async fn payments(&self) -> Result<(), Broken> {
        let mut db = self.store.read().await?;
        let end = Timestamp::from_micros(i64::MAX);
        let mut found: BTreeMap<String, Money> = BTreeMap::new();
        for account in &self.accounts {
            for posting in postings::of_account(&mut db, account, Timestamp::EPOCH, end).await? {
                let twice = found.insert(posting.cause.clone(), posting.amount).is_some();
                law(!twice, "each cause posts once", || posting.cause.clone())?;
            }
        }
        for (cause, amount) in &self.paid {
            law(found.get(cause) == Some(amount), "a confirmed payment is in the books", || cause.clone())?;
        }
        Ok(())
    }

    /// Reads on with the follower and compares with everything that there is.
    async fn followed_all(&mut self, to_the_end: bool) -> Result<(), Broken> {
        loop {
            let before = self.followed.len();
            self.follow().await?;
            if !to_the_end || self.followed.len() == before {
                break;
            }
        }
        let all: Vec<i64> = {
            let mut db = self.store.read().await?;
            if to_the_end && store::events::any_unsequenced(&mut db).await? {
                return Err(Broken::new("every event gets a number", String::new()));
            }
            store::events::after(&mut db, &Audience::Operator, None, 0, ALL).await?.iter().map(|e| e.seq).collect()
        };
        let seen = &self.followed;
        let right = all.starts_with(seen) && (1..).zip(&all).all(|(n, seq)| n == *seq);
        law(right, "a follower sees every event once and in order", || format!("{} of {}", seen.len(), all.len()))?;
        law(!to_the_end || all.len() == seen.len(), "a follower misses nothing", String::new)
    }

    /// What every account has left, and burns, now.
    pub async fn standings(&self) -> Result<Vec<(Money, Rate)>, Broken> {
        let mut db = self.store.read().await?;
        let mut all = Vec::new();
        for id in &self.accounts {
            let unsettled = segments::unsettled_of(&mut db, id).await?;
            let balance = accounts::get(&mut db, id).await?.map(|a| a.balance).unwrap_or_default();
            let standing = standing(balance, &unsettled, self.now())?;
            all.push((standing.left, standing.burn));
        }
        Ok(all)
    }

    /// While the money guard works, no account falls further below zero than its
    /// reaction's worth of all cards.
    pub async fn spent_within(&self, before: &[(Money, Rate)], now: Timestamp) -> Result<(), Broken> {
        let most = Rate::from_micros_per_hour(5 * 9 * 3_600_000).charge(REACTION.millis())?;
        for ((id, (old, _)), (left, _)) in self.accounts.iter().zip(before).zip(self.standings().await?) {
            let least = Money::from_micros(old.micros().min(0) - most.micros());
            law(left >= least, "the overdraft is bounded", || format!("{id}: {old} became {left} at {now}"))?;
        }
        Ok(())
    }
}
