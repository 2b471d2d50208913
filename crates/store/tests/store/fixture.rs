//! A site with a renter, money, a price book and a machine full of cards.

use std::collections::BTreeMap;

use base::{AccountId, Cause, DeviceId, InstanceId, Money, NodeId, Rate, Slug, Span, Timestamp, UserId};
use billing::Plan;
use billing::ledger::Posting;
use domain::device::DeviceFacts;
use domain::instance::{Desired, State};
use domain::rules::Rules;
use store::accounts::Account;
use store::instances::{Instance, Reason};
use store::nodes::Inventory;
use store::users::User;
use store::{Store, accounts, fleet, intents, nodes, postings, prices, users};

use crate::db::write;

/// The beginning of every test.
pub const T0: Timestamp = Timestamp::from_micros(1_772_352_000_000_000);

pub fn at(secs: i64) -> Timestamp {
    T0.after(Span::from_secs(secs))
}

pub struct Site {
    pub user: UserId,
    pub account: AccountId,
    pub node: NodeId,
    pub devices: Vec<DeviceId>,
}

pub fn facts(n: i64) -> DeviceFacts {
    DeviceFacts {
        uuid: format!("GPU-{n}"),
        name: "NVIDIA A100-SXM4-40GB".into(),
        serial: Some(format!("S{n}")),
        memory_mib: 40_960,
        pci: format!("0000:{n:02x}:00.0"),
        numa: Some(0),
        index: n,
        paths: vec![format!("/dev/nvidia{n}")],
        links: vec![],
        power_limit_w: Some(400),
        driver: None,
        fake: true,
    }
}

pub fn inventory(name: &str, devices: std::ops::Range<i64>) -> Inventory {
    Inventory {
        name: name.into(),
        isolation: "container".into(),
        cpus: 64,
        memory_mib: 262_144,
        disk_mib: 1_000_000,
        notices: vec!["no limit on disk".into()],
        version: 1,
        boot_id: "boot-1".into(),
        devices: devices.map(|n| (facts(n), Some("a100".to_owned()))).collect(),
    }
}

/// A site whose account has `money` and whose machine has `cards`.
pub async fn site(store: &Store, cards: i64, money: &str) -> Site {
    store.seed(7);
    let user = User { id: UserId::new(T0, 1), name: "renter".into(), operator: None };
    let account = account(1, "renter");
    let amount: Money = money.parse().unwrap();
    let (owner, payer) = (user.id.clone(), account.id.clone());
    let node = write!(store, |tx, user, account| {
        assert!(users::insert(tx, &user, "hash", T0).await?);
        assert!(accounts::insert(tx, &account).await?);
        users::join(tx, &account.id, &user.id, domain::rights::Role::Owner, T0).await?;
        prices::load(tx, "v1", "text", T0).await?;
        nodes::register(tx, &inventory("node-a", 0..cards), T0).await
    })
    .unwrap();
    if amount.is_positive() {
        top_up(store, &payer, amount, "first").await;
    }
    let mut db = store.read().await.unwrap();
    let devices = fleet::devices(&mut db, "").await.unwrap().into_iter().map(|d| d.id).collect();
    Site { user: owner, account: payer, node, devices }
}

pub fn account(n: u128, name: &str) -> Account {
    Account {
        id: AccountId::new(T0, n),
        name: name.into(),
        currency: "CNY".into(),
        time_zone: "Asia/Shanghai".into(),
        balance: Money::ZERO,
        held: Money::ZERO,
        due_at: None,
        rung: 0,
        created_at: T0,
    }
}

/// `true`: it was news.
pub async fn top_up(store: &Store, account: &AccountId, amount: Money, cause: &str) -> bool {
    let posting = Posting::top_up(account.clone(), "manual", amount, format!("top-up:{cause}"), T0).unwrap();
    write!(store, |tx, posting, account| postings::post(tx, &posting, &account, Some("by hand")).await)
        .unwrap()
        .is_some()
}

/// What a request for one card becomes.
pub fn wish(site: &Site, n: u128) -> Instance {
    Instance {
        id: InstanceId::new(T0, n),
        slug: Slug::new(n),
        account: site.account.clone(),
        created_by: site.user.clone(),
        name: format!("job-{n}"),
        project: None,
        desired: Desired::Running,
        state: State::Requested,
        state_since: T0,
        deadline_at: Some(at(30)),
        due_at: Some(T0),
        wishes: 0,
        generation: 1,
        node: None,
        gpu: "a100".into(),
        count: 1,
        cpus: 4,
        memory_mib: 4_096,
        disk_mib: 10_240,
        plan: Plan::OnDemand,
        rate: Rate::from_micros_per_hour(3_200_000),
        price_version: "v1".into(),
        env: BTreeMap::from([("A".into(), "b".into())]),
        on_start: Some("true".into()),
        on_start_exit: None,
        rules: Rules::default(),
        snoozed_until: None,
        reason: None,
        notices: vec![],
        ready_at: None,
        created_at: T0,
        released_at: None,
    }
}

/// Rents one card with a hold of one hour.
pub async fn rent(store: &Store, site: &Site, n: u128) -> Instance {
    let wish = wish(site, n);
    let instance = wish.clone();
    write!(store, |tx, wish| intents::rent(tx, &wish, Money::from_micros(3_200_000), None, T0).await).unwrap();
    instance
}

pub fn by_renter() -> Reason {
    Reason { rest: State::Stopped, cause: Cause::ByRenter, message: "stopped by its renter".into(), hint: None }
}

/// Puts an instance into a state by hand, as its controller would.
pub async fn put(store: &Store, id: &InstanceId, state: State, desired: Desired) {
    let mut db = store.read().await.unwrap();
    sqlx::query("UPDATE instances SET state = $2, desired = $3 WHERE id = $1")
        .bind(id.as_str())
        .bind(state.as_str())
        .bind(desired.as_str())
        .execute(&mut *db)
        .await
        .unwrap();
}

/// One number from the database.
pub async fn number(store: &Store, sql: &'static str) -> i64 {
    let mut db = store.read().await.unwrap();
    sqlx::query_scalar(sql).fetch_one(&mut *db).await.unwrap()
}
