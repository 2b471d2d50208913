//! Rows put into the store as agents and controllers would: a fleet, instances
//! that run on it, time that waits to be settled.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{
    AccountId, DeviceId, Error, InstanceId, Money, NodeId, Rate, Result, SegmentId, Slug, Span, Timestamp, UserId,
};
use billing::Plan;
use client::Client;
use domain::catalogue::Catalogue;
use domain::device::DeviceFacts;
use domain::instance::{Desired, State};
use domain::rules::Rules;
use futures_util::FutureExt;
use store::accounts::{self, Account};
use store::instances::{self, Instance};
use store::lease::{self, Kind, Lease};
use store::nodes::{self, Inventory};
use store::segments::{self, Segment};
use store::users::{self, User};
use store::{Outcome, Store, Tx, allocations, fleet, intents, prices};

/// Cards of every machine.
pub const CARDS: i64 = 8;

/// GPU models of the fleet, one kind on each machine in turn.
const MODELS: usize = 8;

/// Rows that share a transaction.
const BATCH: usize = 250;

/// How the UUIDs of simulated devices begin: an agent's own must not be touched.
const SIMULATED: &str = "GPU-simulated-";

/// 3.2 an hour.
const RATE: Rate = Rate::from_micros_per_hour(3_200_000);

/// Who rents.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Who pays.
    pub account: AccountId,
    /// Who asks.
    pub user: UserId,
    /// Price book of what is rented.
    pub price_version: String,
}

/// Somebody who is signed in at a server, as an owner.
///
/// # Errors
/// The server's; `not-found` when he belongs to no account.
pub async fn owner_of(client: &Client) -> Result<Owner> {
    let me = client.whoami().await?;
    let account = me.accounts.into_iter().next().ok_or_else(|| Error::not_found("an account of this user"))?;
    let price_version = client.prices().await?.version;
    Ok(Owner { account: account.id, user: me.user.id, price_version })
}

/// The `n`th other account of the same user.
///
/// # Errors
/// The database's.
pub async fn another(store: &Store, owner: &Owner, n: usize, now: Timestamp) -> Result<Owner> {
    let owner = owner.clone();
    store
        .write(move |tx| {
            let owner = owner.clone();
            async move {
                let account = account(AccountId::new(now, tx.random()), n, now);
                accounts::insert(tx, &account).await?;
                users::join(tx, &account.id, &owner.user, domain::rights::Role::Owner, now).await?;
                Ok(Owner { account: account.id, ..owner })
            }
            .boxed()
        })
        .await
}

/// Registers `count` machines of eight cards that are not real; all of them take
/// instances and are proven up to `now`.
///
/// # Errors
/// The database's.
pub async fn machines(store: &Store, count: usize, now: Timestamp) -> Result<Vec<NodeId>> {
    let models: Vec<_> = Catalogue::builtin().models().iter().take(MODELS).collect();
    let inventories: Vec<_> = (0..count)
        .map(|n| {
            let model = models[n % models.len()];
            let cards =
                (0..CARDS).map(|index| (facts(n, index, &model.name, model.memory_gib), Some(model.slug.clone())));
            inventory(n, cards.collect())
        })
        .collect();
    let mut made = Vec::with_capacity(count);
    for batch in inventories.chunks(BATCH) {
        let batch: Arc<[Inventory]> = batch.into();
        let ids = store.write(move |tx| {
            let batch = batch.clone();
            async move {
                let mut ids = Vec::with_capacity(batch.len());
                for inventory in batch.iter() {
                    let id = nodes::register(tx, inventory, now).await?;
                    nodes::proven(tx, &id, now, "boot", now).await?;
                    ids.push(id);
                }
                Ok(ids)
            }
            .boxed()
        });
        made.extend(ids.await?);
    }
    Ok(made)
}

/// The GPU model of the first simulated machine.
pub fn first_model() -> &'static str {
    Catalogue::builtin().models().first().map_or("", |model| model.slug.as_str())
}

fn inventory(n: usize, devices: Vec<(DeviceFacts, Option<String>)>) -> Inventory {
    Inventory {
        name: format!("simulated-{n:05}"),
        isolation: "container".into(),
        cpus: 128,
        memory_mib: 1_048_576,
        disk_mib: 8_000_000,
        notices: vec![],
        version: 1,
        boot_id: "boot".into(),
        devices,
    }
}

fn facts(node: usize, index: i64, name: &str, memory_gib: i64) -> DeviceFacts {
    DeviceFacts {
        uuid: format!("{SIMULATED}{node:05}-{index}"),
        name: name.to_owned(),
        serial: None,
        memory_mib: memory_gib * 1024,
        pci: format!("0000:{index:02x}:00.0"),
        numa: Some(index / 4),
        index,
        paths: vec![format!("/dev/nvidia{index}")],
        links: vec![],
        power_limit_w: None,
        driver: None,
        fake: true,
    }
}

/// An account with a user of its own and a price book, on a database without a server.
///
/// # Errors
/// The database's.
pub async fn owners(store: &Store, count: usize, now: Timestamp) -> Result<Vec<Owner>> {
    store
        .write(move |tx| {
            async move {
                prices::load(tx, "bench", "", now).await?;
                let user = User { id: UserId::new(now, tx.random()), name: "bench".into(), operator: None };
                users::insert(tx, &user, "", now).await?;
                let mut made = Vec::with_capacity(count);
                for n in 0..count {
                    let account = account(AccountId::new(now, tx.random()), n, now);
                    accounts::insert(tx, &account).await?;
                    made.push(Owner { account: account.id, user: user.id.clone(), price_version: "bench".into() });
                }
                Ok(made)
            }
            .boxed()
        })
        .await
}

fn account(id: AccountId, n: usize, now: Timestamp) -> Account {
    Account {
        id,
        name: format!("bench-{n}"),
        currency: "CNY".into(),
        time_zone: "UTC".into(),
        balance: Money::ZERO,
        held: Money::ZERO,
        due_at: None,
        rung: 0,
        created_at: now,
    }
}

/// A device that nobody holds.
#[derive(Clone, Debug)]
pub struct Free {
    /// The device.
    pub device: DeviceId,
    /// Its machine.
    pub node: NodeId,
    /// Its GPU model.
    pub gpu: String,
}

/// Simulated devices that nobody holds, by machine.
///
/// # Errors
/// The database's.
pub async fn free(store: &Store) -> Result<Vec<Free>> {
    let mut db = store.read().await?;
    let all = fleet::devices(&mut db, "").await?;
    Ok(all
        .into_iter()
        .filter(|d| d.held_by.is_none() && d.facts.uuid.starts_with(SIMULATED))
        .filter_map(|d| Some(Free { device: d.id, node: d.node, gpu: d.gpu? }))
        .collect())
}

/// Instances that run, one on each of the given devices, each with its open
/// segment and its allocation. No controller has anything to do with them. The
/// account must have no segments yet: each rent adds all of them up.
///
/// # Errors
/// The database's.
pub async fn running(store: &Store, owner: &Owner, devices: &[Free], now: Timestamp) -> Result<()> {
    let mut placed = Vec::with_capacity(devices.len());
    for batch in devices.chunks(BATCH) {
        let (batch, owner): (Arc<[Free]>, _) = (batch.into(), owner.clone());
        let ids = store.write(move |tx| {
            let (batch, owner) = (batch.clone(), owner.clone());
            async move { place(tx, &owner, &batch, now).await }.boxed()
        });
        placed.extend(ids.await?);
    }
    for batch in placed.chunks(BATCH) {
        let (batch, owner): (Arc<[(InstanceId, Free)]>, _) = (batch.into(), owner.clone());
        let done = store.write(move |tx| {
            let (batch, owner) = (batch.clone(), owner.clone());
            async move {
                for (id, free) in batch.iter() {
                    allocations::take(tx, &free.device, id, 1, now).await?;
                    segments::insert(tx, &segment(tx.random(), &owner, id, &free.node, now, None)).await?;
                }
                Ok(())
            }
            .boxed()
        });
        done.await?;
    }
    Ok(())
}

async fn place(tx: &mut Tx<'_>, owner: &Owner, devices: &[Free], now: Timestamp) -> Outcome<Vec<(InstanceId, Free)>> {
    let mut rows = BTreeMap::new();
    for free in devices {
        let row = instance(tx, owner, &free.gpu, State::Running, now);
        intents::rent(tx, &row, Money::ZERO, None, now).await?;
        rows.insert(row.id.to_string(), (row, free));
    }
    // The machine of an instance is written under a lease. No server sees these
    // rows as due: claim and result are in one transaction.
    let limit = i64::try_from(devices.len()).unwrap_or(i64::MAX);
    for lease in lease::claim(tx, Kind::Instances, now, limit).await? {
        if let Some((row, free)) = rows.get(&lease.id) {
            settle_down(tx, &lease, row, &free.node, now).await?;
        }
    }
    Ok(rows.into_values().map(|(row, free)| (row.id, free.clone())).collect())
}

async fn settle_down(tx: &mut Tx<'_>, lease: &Lease, row: &Instance, node: &NodeId, now: Timestamp) -> Outcome<bool> {
    let placed = Instance { node: Some(node.clone()), ready_at: Some(now), due_at: None, ..row.clone() };
    instances::save(tx, lease, &placed, row.wishes, now).await
}

/// One instance at rest, to hold what the bench holds.
///
/// # Errors
/// The database's.
pub async fn resting(store: &Store, owner: &Owner, now: Timestamp) -> Result<InstanceId> {
    let owner = owner.clone();
    store
        .write(move |tx| {
            let owner = owner.clone();
            async move {
                let row = Instance { due_at: None, ..instance(tx, &owner, "rtx-4090", State::Stopped, now) };
                intents::rent(tx, &row, Money::ZERO, None, now).await?;
                Ok(row.id)
            }
            .boxed()
        })
        .await
}

fn instance(tx: &Tx<'_>, owner: &Owner, gpu: &str, state: State, now: Timestamp) -> Instance {
    let slug = Slug::new(tx.random());
    Instance {
        id: InstanceId::new(now, tx.random()),
        name: slug.to_string(),
        slug,
        account: owner.account.clone(),
        created_by: owner.user.clone(),
        desired: if state == State::Running { Desired::Running } else { Desired::Stopped },
        state,
        state_since: now,
        deadline_at: None,
        due_at: Some(now),
        wishes: 0,
        generation: 1,
        node: None,
        gpu: gpu.to_owned(),
        count: 1,
        cpus: 12,
        memory_mib: 65_536,
        disk_mib: 102_400,
        plan: Plan::OnDemand,
        rate: RATE,
        price_version: owner.price_version.clone(),
        env: BTreeMap::new(),
        on_start: None,
        on_start_exit: None,
        rules: Rules::OFF,
        snoozed_until: None,
        project: None,
        reason: None,
        notices: vec![],
        ready_at: None,
        created_at: now,
        released_at: None,
    }
}

fn segment(
    random: u128,
    owner: &Owner,
    of: &InstanceId,
    node: &NodeId,
    from: Timestamp,
    to: Option<Timestamp>,
) -> Segment {
    Segment {
        id: SegmentId::new(from, random),
        instance: of.clone(),
        account: owner.account.clone(),
        node: node.clone(),
        generation: 1,
        kind: "device".into(),
        rate: RATE,
        price_version: owner.price_version.clone(),
        plan: Plan::OnDemand,
        from,
        to,
        posted: Money::ZERO,
        evidence: "bench".into(),
        closed_by: to.map(|_| "bench".into()),
        devices: vec!["GPU-simulated".into()],
        due_at: to,
    }
}

/// Closed segments of one minute each, one after the other, the last one ended a
/// minute before `now`: `each` of every instance, dealt in turn. All are due.
///
/// # Errors
/// The database's.
pub async fn closed(
    store: &Store,
    instances: &[(Owner, InstanceId, NodeId)],
    each: usize,
    now: Timestamp,
) -> Result<()> {
    let rounds: Vec<i64> = (1..=i64::try_from(each).unwrap_or(i64::MAX)).collect();
    let all: Vec<_> = rounds.iter().flat_map(|round| instances.iter().map(move |i| (*round, i.clone()))).collect();
    for batch in all.chunks(BATCH) {
        let batch: Arc<[_]> = batch.into();
        let done = store.write(move |tx| {
            let batch = batch.clone();
            async move {
                for (round, (owner, id, node)) in batch.iter() {
                    let to = now.before(Span::from_secs(60 * round));
                    let from = to.before(Span::from_secs(60));
                    segments::insert(tx, &segment(tx.random(), owner, id, node, from, Some(to))).await?;
                }
                Ok(())
            }
            .boxed()
        });
        done.await?;
    }
    Ok(())
}
