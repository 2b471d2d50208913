//! A whole site in one process, driven by hand: simulated time and machines, the
//! true store and the true controllers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::{AccountId, Cause, InstanceId, Money, NodeId, Rate, Slug, Span, Timestamp, UserId};
use billing::Plan;
use billing::ledger::Posting;
use control::node::Watch;
use control::testing::{SimClock, SimEngine};
use control::{Clock, Control, worker};
use domain::device::DeviceFacts;
use domain::instance::{Desired, State};
use domain::rules::Rules;
use sqlx::{AnyConnection, Connection, Executor};
use store::accounts::Account;
use store::events::{Audience, Event};
use store::incidents::Incident;
use store::instances::{Instance, Reason};
use store::intents::{self, Restart};
use store::lease::{self, Kind, LEASE};
use store::segments::{Gap, Segment};
use store::users::User;
use store::{Store, accounts, allocations, audit, events, incidents, instances, nodes, postings, prices, segments};

/// 1 March 2026, 10:00:00 UTC.
pub const TEN: Timestamp = Timestamp::from_micros(1_772_359_200_000_000);

/// Slug of the model of every card here.
pub const GPU: &str = "a100-sxm4-40g";

pub fn rate(text: &str) -> Rate {
    text.parse().unwrap()
}

pub fn money(text: &str) -> Money {
    text.parse().unwrap()
}

/// `hh:mm:ss` on the day of [`TEN`].
pub fn clock(text: &str) -> Timestamp {
    format!("2026-03-01T{text}Z").parse().unwrap()
}

pub struct Machine {
    pub id: NodeId,
    pub engine: Arc<SimEngine>,
    pub watch: Watch<SimClock, SimEngine>,
}

pub struct World {
    pub store: Store,
    pub clock: Arc<SimClock>,
    pub control: Control<SimClock, SimEngine>,
    pub machines: Vec<Machine>,
    pub account: AccountId,
    pub user: UserId,
    pub paid_in: Money,
    count: u128,
    home: Home,
}

/// Where the database is, for as long as the test lives.
enum Home {
    File { _folder: tempfile::TempDir },
    Server { address: String, name: String },
}

/// What is asked for.
pub struct Want {
    pub rate: Rate,
    pub count: i64,
    pub rules: Rules,
    pub on_start: Option<String>,
}

pub fn want(price: &str) -> Want {
    Want { rate: rate(price), count: 1, rules: Rules::OFF, on_start: None }
}

fn folder() -> tempfile::TempDir {
    // Memory where there is such a place: these tests are about books, not about disks.
    let shm = std::path::Path::new("/dev/shm");
    if shm.is_dir() { tempfile::tempdir_in(shm).unwrap() } else { tempfile::tempdir().unwrap() }
}

pub fn card(n: i64) -> DeviceFacts {
    DeviceFacts {
        uuid: format!("GPU-{n}"),
        name: "NVIDIA A100-SXM4-40GB".into(),
        serial: Some(format!("S{n}")),
        memory_mib: 40_960,
        pci: format!("0000:{n:02x}:00.0"),
        numa: Some(0),
        index: n % 100,
        paths: vec![],
        links: vec![],
        power_limit_w: Some(400),
        driver: None,
        fake: true,
    }
}

impl World {
    /// One machine for each number of cards; an account with 1 000 000.00; it is 10:00.
    pub async fn new(cards: &[i64]) -> Self {
        Self::with_money(cards, "1000000").await
    }

    pub async fn with_money(cards: &[i64], amount: &str) -> Self {
        let folder = folder();
        let url = format!("sqlite://{}", folder.path().join("suanli.db").display());
        Self::begin(store::open(&url).await.unwrap(), Home::File { _folder: folder }, cards, amount).await
    }

    /// The same on PostgreSQL; to be ended with [`Self::end`]. `None` only where the
    /// run asked for SQLite alone with `FAST=1`.
    pub async fn on_postgres(cards: &[i64], amount: &str) -> Option<Self> {
        let Ok(address) = std::env::var("SUANLI_TEST_POSTGRES") else {
            let fast = std::env::var("FAST").is_ok_and(|v| v == "1");
            assert!(fast, "SUANLI_TEST_POSTGRES is missing: run through scripts/with-postgres.sh, or set FAST=1");
            return None;
        };
        sqlx::any::install_default_drivers();
        let name = format!("test_{:032x}", rand::random::<u128>());
        let mut admin = AnyConnection::connect(&address).await.unwrap();
        admin.execute(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
        let (base, _) = address.rsplit_once('/').unwrap();
        let store = store::open(&format!("{base}/{name}")).await.unwrap();
        Some(Self::begin(store, Home::Server { address, name }, cards, amount).await)
    }

    /// Removes what outlives the process.
    pub async fn end(self) {
        if let Home::Server { address, name } = self.home {
            let mut admin = AnyConnection::connect(&address).await.unwrap();
            admin.execute(sqlx::AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"))).await.unwrap();
        }
    }

    async fn begin(store: Store, home: Home, cards: &[i64], amount: &str) -> Self {
        store.seed(11);
        let clock = Arc::new(SimClock::at(TEN));
        let control = Control::new(store.clone(), clock.clone());
        let user = User { id: UserId::new(TEN, 1), name: "renter".into(), operator: None };
        let account = Account {
            id: AccountId::new(TEN, 1),
            name: "renter".into(),
            currency: "CNY".into(),
            time_zone: "Asia/Shanghai".into(),
            balance: Money::ZERO,
            held: Money::ZERO,
            due_at: None,
            rung: 0,
            created_at: TEN,
        };
        let (user_id, account_id) = (user.id.clone(), account.id.clone());
        store
            .write(move |tx| {
                let (user, account) = (user.clone(), account.clone());
                Box::pin(async move {
                    store::users::insert(tx, &user, "hash", TEN).await?;
                    accounts::insert(tx, &account).await?;
                    prices::load(tx, "v1", "text", TEN).await
                })
            })
            .await
            .unwrap();
        let mut world = Self {
            store,
            clock,
            control,
            machines: vec![],
            account: account_id,
            user: user_id,
            paid_in: Money::ZERO,
            count: 0,
            home,
        };
        if money(amount).is_positive() {
            world.top_up(money(amount)).await;
        }
        for (n, cards) in (0..).zip(cards) {
            let devices = (0..*cards).map(|c| card(n * 100 + c)).collect();
            let engine = Arc::new(SimEngine::new(world.clock.clone(), &format!("node-{n}"), devices));
            let id = control::node::register(&world.control, engine.clone()).await.unwrap();
            let watch = Watch::new(world.control.clone(), engine.clone(), id.clone());
            world.machines.push(Machine { id, engine, watch });
        }
        world.hear().await;
        world
    }

    /// The engine of the first machine.
    pub fn engine(&self) -> Arc<SimEngine> {
        self.machines[0].engine.clone()
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    // --- time -----------------------------------------------------------

    /// Hears every machine once; silence is a result too.
    pub async fn hear(&mut self) {
        for machine in &mut self.machines {
            let _ = machine.watch.hear().await;
        }
    }

    /// Steps everything until nothing is due at the present moment.
    pub async fn settle(&self) {
        for _ in 0..2_000 {
            let mut any = false;
            for kind in Kind::ALL {
                for lease in worker::claim(&self.control, kind, 64).await.unwrap() {
                    any = true;
                    worker::step(&self.control, kind, &lease).await;
                }
            }
            if !any {
                return;
            }
        }
        panic!("something is due again and again at one moment");
    }

    /// The next moment after now at which anything becomes due, whole milliseconds.
    async fn next(&self) -> Option<Timestamp> {
        let now = self.now();
        let mut next: Option<Timestamp> = None;
        let mut db = self.store.read().await.unwrap();
        for kind in Kind::ALL {
            let queue = lease::queue(&mut db, kind, now).await.unwrap();
            // What is due already hangs on a lease of somebody who died.
            let leased = (queue.due > 0).then(|| now.after(LEASE).after(Span::from_millis(1)));
            let due = leased.or(queue.next_due);
            next = next.into_iter().chain(due).min();
        }
        next.map(|at| Timestamp::from_micros((at.micros() + 999) / 1_000 * 1_000))
    }

    /// Lets the world run until `until`: every machine is heard and everything due
    /// is stepped at each moment at which something becomes due, and every hour.
    pub async fn run_until(&mut self, until: Timestamp) {
        self.catch_up().await;
        loop {
            let hour = self.now().after(Span::from_hours(1));
            let next = self.next().await.map_or(hour, |next| next.min(hour));
            if next >= until {
                break;
            }
            self.clock.set(next);
            self.hear().await;
            self.settle().await;
        }
        self.clock.set(until);
        self.hear().await;
        self.settle().await;
    }

    pub async fn run_for(&mut self, span: Span) {
        self.run_until(self.now().after(span)).await;
    }

    /// What evidence has proven until now is posted.
    pub async fn catch_up(&mut self) {
        self.hear().await;
        self.settle().await;
    }

    // --- wishes ---------------------------------------------------------

    pub async fn top_up(&mut self, amount: Money) {
        self.count += 1;
        let cause = format!("top-up:{}", self.count);
        let posting = Posting::top_up(self.account.clone(), "manual", amount, cause, self.now()).unwrap();
        let (account, now) = (self.account.clone(), self.now());
        self.store
            .write(move |tx| {
                let (posting, account) = (posting.clone(), account.clone());
                Box::pin(async move {
                    postings::post(tx, &posting, &account, None).await?;
                    accounts::nudge(tx, &account, now).await
                })
            })
            .await
            .unwrap();
        self.paid_in = self.paid_in.plus(amount).unwrap();
    }

    /// Rents with a hold of one hour.
    pub async fn try_rent(&mut self, want: &Want) -> base::Result<InstanceId> {
        self.count += 1;
        let now = self.now();
        let instance = Instance {
            id: InstanceId::new(now, self.count),
            slug: Slug::new(self.count),
            account: self.account.clone(),
            created_by: self.user.clone(),
            name: format!("job-{}", self.count),
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
            count: want.count,
            cpus: 2,
            memory_mib: 1_024,
            disk_mib: 1_024,
            plan: Plan::OnDemand,
            rate: want.rate,
            price_version: "v1".into(),
            env: BTreeMap::new(),
            on_start: want.on_start.clone(),
            on_start_exit: None,
            rules: want.rules,
            snoozed_until: None,
            reason: None,
            notices: vec![],
            ready_at: None,
            created_at: now,
            released_at: None,
        };
        let (id, hold) = (instance.id.clone(), want.rate.charge(3_600_000).unwrap());
        self.store
            .write(move |tx| {
                let instance = instance.clone();
                Box::pin(async move { intents::rent(tx, &instance, hold, None, now).await })
            })
            .await?;
        Ok(id)
    }

    /// Rents and does not step anything yet.
    pub async fn rent(&mut self, want: &Want) -> InstanceId {
        self.try_rent(want).await.unwrap()
    }

    /// Rents and waits until nothing is due.
    pub async fn run(&mut self, want: &Want) -> InstanceId {
        let id = self.rent(want).await;
        self.settle().await;
        assert_eq!(self.state(&id).await, State::Running, "{:?}", self.get(&id).await.reason);
        id
    }

    pub async fn try_stop(&self, id: &InstanceId) -> base::Result<()> {
        let (id, now) = (id.clone(), self.now());
        let reason = Reason {
            rest: State::Stopped,
            cause: Cause::ByRenter,
            message: "stopped by its renter".into(),
            hint: None,
        };
        self.store
            .write(move |tx| {
                let (id, reason) = (id.clone(), reason.clone());
                Box::pin(async move { intents::stop(tx, &id, &reason, now).await })
            })
            .await
    }

    pub async fn stop(&self, id: &InstanceId) {
        self.try_stop(id).await.unwrap();
    }

    pub async fn try_start(&self, id: &InstanceId) -> base::Result<()> {
        let instance = self.get(id).await;
        let hold = instance.rate.charge(3_600_000).unwrap();
        let (id, now, restart) = (id.clone(), self.now(), Restart { instance, hold });
        self.store
            .write(move |tx| {
                let (id, restart) = (id.clone(), restart.clone());
                Box::pin(async move { intents::start(tx, &id, &restart, now).await })
            })
            .await
    }

    pub async fn start(&self, id: &InstanceId) {
        self.try_start(id).await.unwrap();
    }

    /// Gives an instance other rules, as the route does.
    pub async fn set_rules(&self, id: &InstanceId, rules: Rules, snoozed_until: Option<Timestamp>) {
        let (id, now) = (id.clone(), self.now());
        let write = self.store.write(move |tx| {
            let id = id.clone();
            Box::pin(async move {
                let held = intents::hold_rules(tx, &id).await?;
                intents::set_rules(tx, &held, &rules, snoozed_until, "renter", now).await
            })
        });
        write.await.unwrap();
    }

    pub async fn try_release(&self, id: &InstanceId) -> base::Result<()> {
        let (id, now) = (id.clone(), self.now());
        let reason = Reason {
            rest: State::Stopped,
            cause: Cause::ByRenter,
            message: "released by its renter".into(),
            hint: None,
        };
        self.store
            .write(move |tx| {
                let (id, reason) = (id.clone(), reason.clone());
                Box::pin(async move { intents::release(tx, &id, &reason, now).await })
            })
            .await
    }

    pub async fn release(&self, id: &InstanceId) {
        self.try_release(id).await.unwrap();
    }

    // --- what is so -----------------------------------------------------

    pub async fn get(&self, id: &InstanceId) -> Instance {
        instances::get(&mut self.store.read().await.unwrap(), id).await.unwrap().unwrap()
    }

    pub async fn state(&self, id: &InstanceId) -> State {
        self.get(id).await.state
    }

    pub async fn account(&self) -> Account {
        accounts::get(&mut self.store.read().await.unwrap(), &self.account).await.unwrap().unwrap()
    }

    /// What has been taken from the account.
    pub async fn charged(&self) -> Money {
        self.paid_in.minus(self.account().await.balance).unwrap()
    }

    pub async fn segments(&self, id: &InstanceId) -> Vec<Segment> {
        segments::of_instance(&mut self.store.read().await.unwrap(), id).await.unwrap()
    }

    pub async fn gaps(&self) -> Vec<Gap> {
        let end = Timestamp::from_micros(i64::MAX);
        let mut db = self.store.read().await.unwrap();
        segments::gaps(&mut db, &self.machines[0].id, Timestamp::EPOCH, end).await.unwrap()
    }

    pub async fn held_cards(&self) -> i64 {
        allocations::count_live(&mut self.store.read().await.unwrap()).await.unwrap()
    }

    pub async fn node_state(&self) -> String {
        let mut db = self.store.read().await.unwrap();
        nodes::get(&mut db, &self.machines[0].id).await.unwrap().unwrap().state
    }

    /// Everything that happened, oldest first.
    pub async fn events(&self) -> Vec<Event> {
        control::events::sequence(&self.control).await.unwrap();
        let mut db = self.store.read().await.unwrap();
        events::after(&mut db, &Audience::Operator, None, 0, 1_000_000).await.unwrap()
    }

    pub async fn events_of(&self, subject: &str, kind: &str) -> Vec<Event> {
        let mut all = self.events().await;
        all.retain(|e| e.subject == subject && e.kind == kind);
        all
    }

    /// The states that an instance went through.
    pub async fn path(&self, id: &InstanceId) -> Vec<String> {
        let changes = self.events_of(id.as_str(), "state-changed").await;
        let to = |e: &Event| e.data["to"].as_str().or(e.data["state"].as_str()).unwrap().to_owned();
        changes.iter().map(to).collect()
    }

    pub async fn incidents(&self, kind: &str) -> Vec<Incident> {
        let mut all = incidents::list(&mut self.store.read().await.unwrap(), 1_000).await.unwrap();
        all.retain(|i| i.kind == kind);
        all
    }

    /// The laws that must hold at any moment.
    pub async fn check(&self) {
        let found = self.store.snapshot(|db| Box::pin(audit::run(db))).await.unwrap();
        assert_eq!(found.differences, Vec::<String>::new());
        let books = postings::books(&mut self.store.read().await.unwrap()).await.unwrap();
        assert_eq!(Money::sum(books.iter().map(|(_, m)| *m)).unwrap(), Money::ZERO);
    }

    /// The laws, and that store and machines say the same.
    pub async fn check_at_peace(&self) {
        self.check().await;
        let mut db = self.store.read().await.unwrap();
        let all = instances::list(&mut db, &self.account, None, true, None, 100_000).await.unwrap();
        let live = allocations::live(&mut db).await.unwrap();
        drop(db);
        let devices: BTreeSet<_> = live.iter().map(|(device, _)| device).collect();
        assert_eq!(devices.len(), live.len(), "a device has two tenants");
        let mut held = Money::ZERO;
        for instance in &all {
            let cards = live.iter().filter(|(_, id)| *id == instance.id).count();
            match instance.state {
                State::Running => {
                    assert_eq!(i64::try_from(cards).unwrap(), instance.count);
                    held = held.plus(instance.rate.charge(3_600_000).unwrap()).unwrap();
                }
                state => {
                    assert!(state.is_at_rest(), "{} is {state}", instance.id);
                    assert_eq!((cards, instance.due_at), (0, None), "{} rests as {state}", instance.id);
                }
            }
        }
        assert_eq!(self.account().await.held, held);
        let said: BTreeSet<_> =
            all.iter().filter(|i| i.state == State::Running).map(|i| (i.id.clone(), i.generation)).collect();
        let truth: Vec<_> = self.machines.iter().flat_map(|m| m.engine.truth()).collect();
        let runs: BTreeSet<_> =
            truth.iter().filter(|a| a.running).map(|a| (a.instance.id.clone(), a.instance.generation)).collect();
        assert_eq!(said, runs, "the store and the machines differ about what runs");
        for alive in truth {
            let state = all.iter().find(|i| i.id == alive.instance.id).map(|i| i.state);
            assert_ne!(state, Some(State::Released), "{} is released but still there", alive.instance.id);
        }
    }
}
