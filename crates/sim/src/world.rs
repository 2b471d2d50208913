//! Two servers on one database, three machines, and whoever is held between them.

mod aim;
mod drive;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use base::{AccountId, Cause, Error, InstanceId, Money, NodeId, Span, Timestamp, UserId};
use control::node::Watch;
use control::testing::SimClock;
use control::{Clock, Control, worker};
use domain::device::DeviceFacts;
use sha2::{Digest, Sha256};
use store::accounts::Account;
use store::events::Audience;
use store::lease::Kind;
use store::users::User;
use store::{Store, accounts, prices};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::action::{Action, Event, Fate, HELD, IN_BULK, Twist, Wish};
use crate::laws::Broken;
use crate::machine::{Machine, silence};
use crate::wire::{Order, Pass, Place, Shared, Waiting, Wire, WireEngine, arrive_late, lock};
use crate::wish::{self, Answered, Asked};
use aim::newest_first;

/// 1 March 2026, 10:00:00 UTC.
const BEGIN: Timestamp = Timestamp::from_micros(1_772_359_200_000_000);

/// Cards of each machine.
const MACHINES: [i64; 3] = [2, 1, 2];

/// Servers on the one database.
const SERVERS: usize = 2;

/// More places than any task ever passes.
const TOO_MANY: usize = 400;

/// Nothing that a task waits for takes this long in real time.
const STUCK: std::time::Duration = std::time::Duration::from_secs(60);

/// Nothing special happens.
pub const GO: Twist = Twist { at: 0, fate: Fate::Go };

type Hearing = Watch<SimClock, WireEngine>;

/// What a task leaves when it ends.
pub enum Done {
    /// Nothing.
    Nothing,
    /// Whether there was anything to step.
    Stepped(bool),
    /// The watch of a machine, and how it went.
    Heard(usize, Box<Hearing>, base::Result<()>),
    /// It could not do its work.
    Failed(Error),
    /// An answer.
    Answered(Asked, base::Result<Answered>),
    /// Ids of the machines, at the beginning.
    Registered(Vec<NodeId>),
}

/// The id of what a task has in its hands, once it knows.
type Hands = Arc<Mutex<Option<String>>>;

/// A task of a server.
struct Task {
    server: usize,
    what: String,
    join: JoinHandle<Done>,
    waiting: Option<Waiting>,
    /// The machine whose watch it has.
    hears: Option<usize>,
    object: Hands,
}

/// How driving a task came to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drove {
    /// It ended, and had something to do.
    Ended,
    /// It ended without anything to do.
    Idle,
    /// It is held or gone.
    Off,
}

/// A server.
pub struct Server {
    store: Store,
    /// Its controllers.
    pub control: Control<SimClock, WireEngine>,
    watches: Vec<Option<Box<Hearing>>>,
}

/// The whole site.
pub struct World {
    /// The database, for looking only.
    pub store: Store,
    /// The true time.
    pub clock: Arc<SimClock>,
    /// The servers.
    pub servers: Vec<Server>,
    /// The machines.
    pub machines: Vec<Shared>,
    /// Their ids, in the same order.
    pub nodes: Vec<NodeId>,
    /// Who pays.
    pub accounts: Vec<AccountId>,
    /// What was rented, and micro-units a millisecond.
    pub rented: Vec<(InstanceId, i64)>,
    /// Which instances a key of a request was answered with.
    pub keys: BTreeMap<String, BTreeSet<InstanceId>>,
    /// Payments that were confirmed.
    pub paid: BTreeMap<String, Money>,
    /// Stretches of each machine that came too late to count.
    pub late: Vec<Vec<(Timestamp, Timestamp)>>,
    /// How far the evidence of each machine was seen to reach.
    pub proven: Vec<Timestamp>,
    /// Events that a follower has seen, by number.
    pub followed: Vec<i64>,
    /// Orders that nobody waits for any more.
    orphans: Vec<(usize, Order)>,
    tasks: Vec<Task>,
    wire: Wire,
    arrivals: mpsc::UnboundedReceiver<Waiting>,
    user: UserId,
    count: u128,
    lines: Vec<String>,
    _home: tempfile::TempDir,
}

fn card(n: i64) -> DeviceFacts {
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
    /// A site with nothing rented; it is 10:00.
    pub async fn new(seed: u64) -> Result<Self, Broken> {
        // Memory where there is such a place: this is about books, not about disks.
        let shm = std::path::Path::new("/dev/shm");
        let home = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() }.map_err(Broken::world)?;
        let url = format!("sqlite://{}", home.path().join("sim.db").display());
        let clock = Arc::new(SimClock::at(BEGIN));
        let (wire, arrivals) = Wire::new();
        let mut stores = Vec::new();
        for n in 0..SERVERS {
            let store = store::open(&url).await.map_err(Broken::world)?;
            store.seed(seed.wrapping_mul(31).wrapping_add(n as u64));
            stores.push(store);
        }
        let store = stores.first().cloned().ok_or_else(|| Broken::world("no server"))?;
        let machines: Vec<Shared> = (0..)
            .zip(MACHINES)
            .map(|(n, cards)| {
                let devices = (0..cards).map(|c| card(n * 100 + c)).collect();
                Arc::new(Mutex::new(Machine::new(&format!("node-{n}"), devices, BEGIN)))
            })
            .collect();
        let servers = stores
            .into_iter()
            .map(|store| {
                let store = store.with_gate(wire.gate());
                let control = Control::new(store.clone(), clock.clone());
                Server { store, control, watches: Vec::new() }
            })
            .collect();
        let user = User { id: UserId::new(BEGIN, 1), name: "renter".into(), operator: Default::default() };
        let mut world = Self {
            store,
            clock,
            servers,
            late: vec![Vec::new(); machines.len()],
            proven: vec![Timestamp::EPOCH; machines.len()],
            machines,
            nodes: Vec::new(),
            accounts: Vec::new(),
            rented: Vec::new(),
            keys: BTreeMap::new(),
            paid: BTreeMap::new(),
            followed: Vec::new(),
            orphans: Vec::new(),
            tasks: Vec::new(),
            wire,
            arrivals,
            user: user.id.clone(),
            count: 0,
            lines: Vec::new(),
            _home: home,
        };
        world.people(user).await?;
        for server in 0..SERVERS {
            world.connect(server).await?;
        }
        Ok(world)
    }

    async fn people(&mut self, user: User) -> Result<(), Broken> {
        let accounts: Vec<_> = (1..3u128)
            .map(|n| Account {
                id: AccountId::new(BEGIN, n),
                name: format!("renter-{n}"),
                currency: "CNY".into(),
                time_zone: "Asia/Shanghai".into(),
                balance: Money::ZERO,
                held: Money::ZERO,
                due_at: None,
                rung: 0,
                created_at: BEGIN,
            })
            .collect();
        self.accounts = accounts.iter().map(|a| a.id.clone()).collect();
        self.store
            .write(move |tx| {
                let (user, accounts) = (user.clone(), accounts.clone());
                Box::pin(async move {
                    store::users::insert(tx, &user, "hash", BEGIN).await?;
                    for account in &accounts {
                        accounts::insert(tx, account).await?;
                    }
                    prices::load(tx, "v0", "v0", BEGIN).await
                })
            })
            .await
            .map_err(Broken::world)?;
        for (account, amount) in [(0, 2_000), (1, 60)] {
            self.pay(0, account, amount, format!("first:{account}"), GO).await?;
        }
        Ok(())
    }

    /// A server gets to know every machine.
    async fn connect(&mut self, server: usize) -> Result<(), Broken> {
        let engines: Vec<_> = self.engines();
        let control = self.servers[server].control.clone();
        let known = engines.clone();
        let join = tokio::spawn(async move {
            let mut nodes = Vec::new();
            for engine in known {
                if let Ok(node) = control::node::register(&control, engine).await {
                    nodes.push(node);
                }
            }
            Done::Registered(nodes)
        });
        self.drive(self.task(server, "connect", join), GO).await?;
        self.watch(server, &engines);
        Ok(())
    }

    fn engines(&self) -> Vec<Arc<WireEngine>> {
        let one = |(node, machine): (usize, &Shared)| {
            Arc::new(WireEngine { node, machine: machine.clone(), clock: self.clock.clone(), wire: self.wire.clone() })
        };
        self.machines.iter().enumerate().map(one).collect()
    }

    fn watch(&mut self, server: usize, engines: &[Arc<WireEngine>]) {
        let server = &mut self.servers[server];
        server.watches.clear();
        for (engine, node) in engines.iter().zip(&self.nodes) {
            server.control.engines.set(node.clone(), engine.clone());
            let watch = Watch::new(server.control.clone(), engine.clone(), node.clone());
            server.watches.push(Some(Box::new(watch)));
        }
    }

    // --- the history ----------------------------------------------------

    /// Writes a line into the history.
    pub fn note(&mut self, line: String) {
        self.lines.push(line);
    }

    /// The history.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// How much time has passed.
    pub fn passed(&self) -> Span {
        self.now().since(BEGIN)
    }

    /// The true time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// SHA-256 of all tables, hex.
    pub async fn tables(&self) -> Result<String, Broken> {
        let (to, mut from) = mpsc::channel(64);
        let store = self.store.clone();
        let now = self.now();
        let writing = tokio::spawn(async move { store::backup::stream(&store, now, to).await.map(|_| ()) });
        let mut all = Sha256::new();
        while let Some(piece) = from.recv().await {
            all.update(&piece);
        }
        writing.await.map_err(Broken::world)?.map_err(Broken::world)?;
        Ok(hex::encode(all.finalize()))
    }

    // --- tasks ----------------------------------------------------------

    /// Claims one due object and steps it.
    pub async fn step(&mut self, server: usize, kind: Kind, twist: Twist) -> Result<Drove, Broken> {
        let of = &self.servers[server].control;
        // A lock inside one process must not stand in for the database's guards: each
        // step places as a process of its own would, so that any two can race.
        let mut control = Control::new(of.store.clone(), of.clock.clone());
        (control.engines, control.metrics) = (of.engines.clone(), of.metrics.clone());
        let hands = Hands::default();
        let takes = hands.clone();
        let join = tokio::spawn(async move {
            let Ok(leases) = worker::claim(&control, kind, 1).await else {
                return Done::Nothing;
            };
            *takes.lock().unwrap_or_else(PoisonError::into_inner) = leases.first().map(|lease| lease.id.clone());
            for lease in &leases {
                worker::step(&control, kind, lease).await;
            }
            Done::Stepped(!leases.is_empty())
        });
        let mut task = self.task(server, &format!("server {server} steps {}", kind.as_str()), join);
        task.object = hands;
        self.drive(task, twist).await
    }

    /// Settles everything that is due and nobody's in one transaction, as a server's
    /// loop does before it looks at segments one by one.
    pub async fn settle(&mut self, server: usize, twist: Twist) -> Result<Drove, Broken> {
        let control = self.servers[server].control.clone();
        let join = tokio::spawn(async move {
            match control::segment::settle_due(&control).await {
                Ok(settled) => Done::Stepped(settled > 0),
                Err(error) => Done::Failed(error),
            }
        });
        let task = self.task(server, &format!("server {server} settles all segments"), join);
        self.drive(task, twist).await
    }

    /// Hears one machine.
    pub async fn hear(&mut self, server: usize, node: usize, twist: Twist) -> Result<Drove, Broken> {
        let place = self.servers[server].watches.get_mut(node);
        let Some(mut watch) = place.and_then(Option::take) else {
            return Ok(Drove::Off);
        };
        let join = tokio::spawn(async move {
            let heard = watch.hear().await;
            Done::Heard(node, watch, heard)
        });
        let mut task = self.task(server, &format!("server {server} hears machine {node}"), join);
        task.hears = Some(node);
        let drove = self.drive(task, twist).await?;
        self.look_at_evidence().await?;
        Ok(drove)
    }

    /// Numbers events.
    pub async fn number(&mut self, server: usize, twist: Twist) -> Result<Drove, Broken> {
        let control = self.servers[server].control.clone();
        let join = tokio::spawn(async move {
            // Another server may have done it at the same moment; then it is tried again.
            let _ = control::events::sequence(&control).await;
            Done::Nothing
        });
        let task = self.task(server, &format!("server {server} numbers events"), join);
        self.drive(task, twist).await
    }

    /// Remembers which evidence came more than a day late.
    async fn look_at_evidence(&mut self) -> Result<(), Broken> {
        let mut db = self.store.read().await?;
        for (n, id) in self.nodes.iter().enumerate() {
            let Some(node) = store::nodes::get(&mut db, id).await? else { continue };
            let (before, now) = (self.proven[n], node.proven_until);
            let oldest = now.before(Span::from_hours(24));
            if before > Timestamp::EPOCH && oldest > before {
                self.late[n].push((before, oldest));
            }
            if now < before {
                return Err(Broken::new("evidence never goes back", format!("{id}: {now} after {before}")));
            }
            self.proven[n] = now;
        }
        Ok(())
    }

    // --- actions --------------------------------------------------------

    /// Lets an action happen.
    pub async fn act(&mut self, action: Action) -> Result<(), Broken> {
        let server = |n: u8| usize::from(n) % SERVERS;
        match action {
            Action::Step { server: s, kind: IN_BULK, twist } => {
                self.settle(server(s), twist).await?;
            }
            Action::Step { server: s, kind, twist } => {
                for n in 0..Kind::ALL.len() {
                    let kind = Kind::ALL[(usize::from(kind) + n) % Kind::ALL.len()];
                    if self.step(server(s), kind, twist).await? != Drove::Idle {
                        break;
                    }
                }
            }
            Action::Hear { server: s, node, twist } => {
                self.hear(server(s), usize::from(node) % MACHINES.len(), twist).await?;
            }
            Action::Wish { server: s, wish, twist } => self.wish(server(s), wish, twist).await?,
            Action::Number { server: s, twist } => {
                self.number(server(s), twist).await?;
            }
            Action::Resume { task, twist } => {
                if !self.tasks.is_empty() {
                    let task = self.tasks.remove(newest_first(task, self.tasks.len()));
                    self.note(format!("{} goes on", task.what));
                    // The place where it was held is the first.
                    self.drive(task, Twist { at: twist.at.max(1), ..twist }).await?;
                    self.look_at_evidence().await?;
                }
            }
            Action::Late { order, arrives } => {
                if !self.orphans.is_empty() {
                    let (node, order) = self.orphans.remove(newest_first(order, self.orphans.len()));
                    if arrives {
                        self.arrive(node, &order);
                    }
                }
            }
            Action::Die { server: s } => self.die(server(s)).await?,
            Action::Follow => self.follow().await?,
            Action::Pass { ms } => self.clock.advance(Span::from_millis(ms)),
            Action::Live { ms } => self.live(Span::from_millis(ms)).await?,
            Action::Machine { node, event } => self.befall(usize::from(node) % MACHINES.len(), event),
            Action::Rest => self.rest().await?,
        }
        self.count_failures()
    }

    fn count_failures(&self) -> Result<(), Broken> {
        for server in &self.servers {
            let counts = server.control.metrics.counts();
            if let Some((kind, n)) = counts.failures.iter().next() {
                return Err(Broken::new("a step never fails", format!("{n} steps of {kind}")));
            }
        }
        Ok(())
    }

    fn befall(&mut self, node: usize, event: Event) {
        let now = self.now();
        let mut machine = lock(&self.machines[node]);
        match event {
            Event::PowerOff => machine.power_off(now),
            Event::PowerOn => machine.power_on(now),
            Event::NetOff => machine.reachable = false,
            Event::NetOn => machine.reachable = true,
            Event::AgentOff => machine.agent_off(now),
            Event::AgentOn => machine.agent_on(now),
            Event::Wall(secs) => machine.set_wall(Span::from_secs(secs), now),
            Event::Card(n) => machine.toggle_card(usize::from(n)),
            Event::DiskFull(full) => machine.disk_full = full,
            Event::Kill(n) => {
                if let Some(id) = machine.running(usize::from(n)) {
                    machine.kill(&id, now);
                }
            }
            Event::CommandEnds(n) => {
                if let Some(id) = machine.running(usize::from(n)) {
                    machine.command_ended(&id, i64::from(n), now);
                }
            }
            Event::Busy(n, secs) => {
                if let Some(id) = machine.running(usize::from(n)) {
                    machine.busy_until(&id, now.after(Span::from_secs(secs)));
                }
            }
        }
    }

    /// A follower reads what is new, a few at a time.
    pub async fn follow(&mut self) -> Result<(), Broken> {
        let last = self.followed.last().copied().unwrap_or(0);
        let mut db = self.store.read().await?;
        let news = store::events::after(&mut db, &Audience::Operator, None, last, 50).await?;
        self.followed.extend(news.iter().map(|e| e.seq));
        Ok(())
    }
}
