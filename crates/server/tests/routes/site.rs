//! A site without an engine: people, money, machines full of cards, and a way
//! into instances that ends in the test.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use base::{AccountId, InstanceId, NodeId, Result, SegmentId, Span, Timestamp, TokenId, UserId};
use billing::ledger::Posting;
use control::{Clock, SystemClock};
use domain::device::{DeviceFacts, DeviceSample};
use domain::instance::State;
use domain::rights::{OperatorRole, Role};
use engine::Stats;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use server::App;
use server::auth::token_hash;
use server::reach::{Pipe, Reach};
use store::accounts::Account;
use store::instances::Instance;
use store::nodes::Inventory;
use store::segments::Segment;
use store::tokens::{Session, SessionKind};
use store::users::User;
use store::{Store, accounts, allocations, fleet, instances, nodes, postings, segments, tokens, users};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tower::ServiceExt;

use crate::answer::Answer;
use crate::db::{Db, write};

pub const CARD: &str = "rtx-4090-24g";

pub struct Person {
    pub id: UserId,
    pub token: String,
}

pub struct Site {
    pub app: App,
    pub router: Router,
    pub reach: Arc<Ways>,
    pub operator: Person,
    /// Member of `alpha` alone, which has 1000.
    pub alice: Person,
    pub alpha: AccountId,
    /// Member of `beta` alone, which has 1000.
    pub bob: Person,
    pub beta: AccountId,
    pub node: NodeId,
    document: Value,
}

impl Site {
    /// Four RTX 4090 on `node-a`, nothing else.
    pub async fn new(db: &Db) -> Self {
        let clock = Arc::new(SystemClock::start());
        let book = server::prices::current(&db.store, clock.now()).await.unwrap();
        let reach = Arc::new(Ways::default());
        let app = App::new(db.store.clone(), clock, reach.clone(), Arc::default(), book);
        let router = server::router(app.clone());
        let document = Request::get("/openapi.json").body(Body::empty()).unwrap();
        let document = Answer::read(router.clone().oneshot(document).await.unwrap()).await.ok(200);
        let operator = person(&app, "operator", true).await;
        let alice = person(&app, "alice", false).await;
        let bob = person(&app, "bob", false).await;
        let alpha = account(&app, "alpha", &[&alice]).await;
        let beta = account(&app, "beta", &[&bob]).await;
        fund(&app, &alpha, "1000").await;
        fund(&app, &beta, "1000").await;
        let node = machine(&app, "node-a", "container", CARD, 0..4).await;
        Self { app, router, reach, operator, alice, alpha, bob, beta, node, document }
    }

    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Sends a request; its answer must be one that the OpenAPI document tells of.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let (method, path) = (request.method().as_str().to_lowercase(), request.uri().path().to_owned());
        let answer = Answer::read(self.router.clone().oneshot(request).await.unwrap()).await;
        if let Some(operation) = self.operation(&method, &path) {
            let told = &operation["responses"][answer.status.to_string()];
            assert!(told.is_object(), "{method} {path} answers {}, which is not documented", answer.status);
            let kind = answer.header("content-type").split(';').next().unwrap();
            if answer.status >= 400 {
                assert!(told["content"][kind].is_object(), "{method} {path} answers with `{kind}`");
            }
        }
        answer
    }

    fn operation(&self, method: &str, path: &str) -> Option<&Value> {
        let wanted: Vec<&str> = path.split('/').collect();
        let fits = |template: &str| {
            let parts: Vec<&str> = template.split('/').collect();
            parts.len() == wanted.len() && parts.iter().zip(&wanted).all(|(p, w)| p.starts_with('{') || p == w)
        };
        let paths = self.document["paths"].as_object().unwrap();
        paths.iter().find(|(template, _)| fits(template)).map(|(_, item)| &item[method]).filter(|o| o.is_object())
    }

    pub async fn get(&self, by: &Person, path: &str) -> Answer {
        self.send(request("GET", path, Some(by), None, &[])).await
    }

    pub async fn post(&self, by: &Person, path: &str, body: Value) -> Answer {
        self.send(request("POST", path, Some(by), Some(&body), &[])).await
    }

    pub async fn put(&self, by: &Person, path: &str, body: Value) -> Answer {
        self.send(request("PUT", path, Some(by), Some(&body), &[])).await
    }

    pub async fn post_with_key(&self, by: &Person, path: &str, body: Value, key: &str) -> Answer {
        self.send(request("POST", path, Some(by), Some(&body), &[("idempotency-key", key)])).await
    }

    /// A new instance of Alice's with one card, still `requested`.
    pub async fn rented(&self, name: &str) -> InstanceId {
        let answer = self.post(&self.alice, "/v1/instances", json!({ "gpu": CARD, "name": name })).await;
        answer.ok(202)["id"].as_str().unwrap().parse().unwrap()
    }

    /// The same, running on a card since `ago`.
    pub async fn running(&self, name: &str, ago: Span) -> InstanceId {
        let id = self.rented(name).await;
        self.run(&id, ago).await;
        id
    }

    /// Gives an instance cards, a segment and the state `running`, as its controller would.
    pub async fn run(&self, id: &InstanceId, ago: Span) {
        let (app, id, node) = (&self.app, id.clone(), self.node.clone());
        let since = app.now().before(ago);
        let i = self.row(&id).await;
        let mut db = app.store.read().await.unwrap();
        let free: Vec<_> = fleet::devices(&mut db, &i.gpu).await.unwrap();
        let free = free.into_iter().filter(|d| d.node == node && d.held_by.is_none());
        let devices: Vec<_> = free.take(usize::try_from(i.count).unwrap()).map(|d| (d.id, d.facts.uuid)).collect();
        let generation = i.generation;
        let segment = {
            Segment {
                id: SegmentId::new(since, rand::random()),
                instance: i.id.clone(),
                account: i.account.clone(),
                node: node.clone(),
                generation,
                kind: "device".into(),
                rate: i.rate,
                price_version: i.price_version.clone(),
                plan: i.plan,
                from: since,
                to: None,
                posted: base::Money::ZERO,
                evidence: "by hand".into(),
                closed_by: None,
                devices: devices.iter().map(|(_, uuid)| uuid.clone()).collect(),
                due_at: None,
            }
        };
        write!(app.store, |tx, id, node, devices, segment| {
            for (device, _) in &devices {
                assert!(allocations::take(tx, device, &id, generation, since).await?);
            }
            assert!(segments::insert(tx, &segment).await?);
            nodes::proven(tx, &node, since, "boot-1", since).await
        })
        .unwrap();
        sqlx::query("UPDATE instances SET state = 'running', deadline_at = NULL, node_id = $2, ready_at = $3, state_since = $3 WHERE id = $1")
            .bind(id.as_str())
            .bind(node.as_str())
            .bind(since.micros())
            .execute(&mut *db)
            .await
            .unwrap();
    }

    /// Evidence of the machine reaches up to `until`.
    pub async fn proven(&self, until: Timestamp) {
        let node = self.node.clone();
        write!(self.app.store, |tx, node| nodes::proven(tx, &node, until, "boot-1", until).await).unwrap();
    }

    pub async fn row(&self, id: &InstanceId) -> Instance {
        let mut db = self.app.store.read().await.unwrap();
        instances::get(&mut db, id).await.unwrap().unwrap()
    }

    /// Puts an instance into a state by hand.
    pub async fn state(&self, id: &InstanceId, state: State, desired: &str) {
        let mut db = self.app.store.read().await.unwrap();
        sqlx::query("UPDATE instances SET state = $2, desired = $3 WHERE id = $1")
            .bind(id.as_str())
            .bind(state.as_str())
            .bind(desired)
            .execute(&mut *db)
            .await
            .unwrap();
    }

    /// One number from the database.
    pub async fn number(&self, sql: &'static str) -> i64 {
        let mut db = self.app.store.read().await.unwrap();
        sqlx::query_scalar(sql).fetch_one(&mut *db).await.unwrap()
    }

    /// The server on a real port of this machine, for as long as the test runs.
    pub async fn listen(&self) -> std::net::SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = self.router.clone();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        address
    }
}

/// A request with a JSON body, if it has one.
pub fn request(
    method: &str,
    path: &str,
    by: Option<&Person>,
    body: Option<&Value>,
    headers: &[(&str, &str)],
) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(person) = by {
        request = request.header("authorization", format!("Bearer {}", person.token));
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    match body {
        Some(body) => request.header("content-type", "application/json").body(Body::from(body.to_string())),
        None => request.body(Body::empty()),
    }
    .unwrap()
}

/// A user with a token that lasts an hour. He cannot sign in with a password.
pub async fn person(app: &App, name: &str, operator: bool) -> Person {
    let now = app.now();
    let token = server::auth::new_token();
    let (name, hash, ends) = (name.to_owned(), token_hash(&token), now.after(Span::from_hours(1)));
    let id = write!(app.store, |tx, name, hash| {
        let operator = operator.then_some(OperatorRole::Admin);
        let user = User { id: UserId::new(now, tx.random()), name, operator };
        assert!(users::insert(tx, &user, "no password", now).await?);
        tokens::insert(tx, &user.id, &session(TokenId::new(now, tx.random()), now, ends), &hash).await?;
        Ok(user.id)
    })
    .unwrap();
    Person { id, token }
}

/// A session of the command line.
pub fn session(id: TokenId, created_at: Timestamp, expires_at: Timestamp) -> Session {
    let kind = SessionKind::Login;
    Session { id, kind, name: "test".into(), created_at, expires_at, used_at: None, address: None, agent: None }
}

/// An account in Shanghai without money.
pub async fn account(app: &App, name: &str, members: &[&Person]) -> AccountId {
    let now = app.now();
    let members: Vec<_> = members.iter().map(|p| p.id.clone()).collect();
    let name = name.to_owned();
    write!(app.store, |tx, name, members| {
        let account = Account {
            id: AccountId::new(now, tx.random()),
            name,
            currency: "CNY".into(),
            time_zone: "Asia/Shanghai".into(),
            balance: base::Money::ZERO,
            held: base::Money::ZERO,
            due_at: None,
            rung: 0,
            created_at: now,
        };
        assert!(accounts::insert(tx, &account).await?);
        for member in &members {
            users::join(tx, &account.id, member, Role::Owner, now).await?;
        }
        Ok(account.id)
    })
    .unwrap()
}

pub async fn fund(app: &App, account: &AccountId, amount: &str) {
    let (account, now) = (account.clone(), app.now());
    let amount = amount.parse().unwrap();
    write!(app.store, |tx, account| {
        let cause = format!("top-up:{:032x}", tx.random());
        let posting = Posting::top_up(account.clone(), "manual", amount, cause, now)?;
        postings::post(tx, &posting, &account, None).await
    })
    .unwrap();
}

/// A machine with cards of one model; `range` numbers them on the whole site.
pub async fn machine(app: &App, name: &str, isolation: &str, gpu: &str, range: Range<i64>) -> NodeId {
    let now = app.now();
    let model = app.catalogue.get(gpu).unwrap();
    let card = |n: i64| DeviceFacts {
        uuid: format!("GPU-fake-{n}"),
        name: model.name.clone(),
        serial: Some(format!("FAKE{n}")),
        memory_mib: model.memory_gib * 1024,
        pci: format!("0000:{n:02x}:00.0"),
        numa: Some(0),
        index: n,
        paths: vec![],
        links: vec![],
        power_limit_w: Some(400),
        driver: None,
        fake: true,
    };
    let inventory = Inventory {
        name: name.into(),
        isolation: isolation.into(),
        cpus: 128,
        memory_mib: 1_048_576,
        disk_mib: 10_000_000,
        notices: vec![],
        version: 1,
        boot_id: "boot-1".into(),
        devices: range.map(|n| (card(n), Some(gpu.to_owned()))).collect(),
    };
    write!(app.store, |tx, inventory| nodes::register(tx, &inventory, now).await).unwrap()
}

/// Numbers events as the controllers do, until the test ends.
pub fn sequencer(store: &Store) {
    let store = store.clone();
    tokio::spawn(async move {
        let mut written = store.watch();
        loop {
            written.mark_unchanged();
            let waiting = {
                let mut db = store.read().await.unwrap();
                store::events::any_unsequenced(&mut db).await.unwrap()
            };
            if waiting {
                write!(store, |tx| store::events::sequence(tx).await).unwrap();
                continue;
            }
            written.changed().await.unwrap();
        }
    });
}

/// Ways into instances whose other ends the test holds.
pub struct Ways {
    opened: mpsc::UnboundedSender<DuplexStream>,
    pub ends: tokio::sync::Mutex<mpsc::UnboundedReceiver<DuplexStream>>,
    pub stats: Mutex<Option<Stats>>,
}

impl Default for Ways {
    fn default() -> Self {
        let (opened, ends) = mpsc::unbounded_channel();
        Self { opened, ends: tokio::sync::Mutex::new(ends), stats: Mutex::default() }
    }
}

impl Ways {
    /// The inner end of the stream that was opened last.
    pub async fn end(&self) -> DuplexStream {
        self.ends.lock().await.recv().await.unwrap()
    }
}

impl Reach for Ways {
    fn open<'a>(&'a self, _: &'a NodeId, _: &'a InstanceId) -> BoxFuture<'a, Result<Box<dyn Pipe>>> {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        self.opened.send(theirs).unwrap();
        async move { Ok(Box::new(ours) as Box<dyn Pipe>) }.boxed()
    }

    fn stats<'a>(&'a self, _: &'a NodeId, _: &'a InstanceId) -> BoxFuture<'a, Result<Stats>> {
        let stats = self.stats.lock().unwrap().clone();
        let away = || base::Error::new(base::Cause::Unavailable, "the machine does not answer");
        async move { stats.ok_or_else(away) }.boxed()
    }

    fn sample(&self, _: &str) -> Option<DeviceSample> {
        None
    }
}
