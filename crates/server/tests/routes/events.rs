//! The event stream: in order, from where one was, only what is one's own.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use base::AccountId;
use futures_util::StreamExt;
use serde_json::{Value, json};
use server::App;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower::ServiceExt;

use crate::db::{Db, both, write};
use crate::site::{CARD, Person, Site, account, person, sequencer};

/// A stream that has been opened. Every wait of it is bounded.
pub struct Reader {
    body: BodyDataStream,
    buffer: String,
    last: i64,
}

impl Reader {
    pub async fn open(site: &Site, by: &Person, query: &str, last: Option<i64>) -> Self {
        Self::open_at(&site.router, by, query, last).await
    }

    /// At one of several servers.
    pub async fn open_at(router: &Router, by: &Person, query: &str, last: Option<i64>) -> Self {
        let mut request = Request::get(format!("/v1/events{query}"));
        request = request.header("authorization", format!("Bearer {}", by.token));
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body().into_data_stream(), buffer: String::new(), last: last.unwrap_or(0) }
    }

    /// The next event; its place is after the one before.
    pub async fn next(&mut self) -> Value {
        loop {
            if let Some((block, rest)) = self.buffer.split_once("\n\n") {
                let event = parse(block);
                self.buffer = rest.to_owned();
                if let Some(event) = event {
                    let seq = event["seq"].as_i64().unwrap();
                    assert!(seq > self.last, "{seq} after {}", self.last);
                    self.last = seq;
                    return event;
                }
                continue;
            }
            let piece = tokio::time::timeout(Duration::from_secs(30), self.body.next()).await;
            let piece = piece.expect("an event comes").expect("the stream goes on").unwrap();
            self.buffer.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }
}

impl Reader {
    /// Waits until the server ends the stream, without another event.
    pub async fn end(mut self) {
        while let Some(piece) = tokio::time::timeout(Duration::from_secs(30), self.body.next()).await.expect("it ends")
        {
            self.buffer.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
        }
        let events: Vec<_> = self.buffer.split("\n\n").filter_map(parse).collect();
        assert!(events.is_empty(), "{events:?}");
    }
}

/// One block of the stream; `None` for a comment.
fn parse(block: &str) -> Option<Value> {
    let field = |name: &str| block.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(": "));
    let event: Value = serde_json::from_str(field("data")?).unwrap();
    assert_eq!(field("id").unwrap(), event["seq"].to_string());
    assert_eq!(field("event").unwrap(), event["kind"]);
    Some(event)
}

pub async fn record(app: &App, account: Option<&AccountId>, subject: &str, data: Value) {
    let (account, subject) = (account.cloned(), subject.to_owned());
    let now = app.now();
    write!(app.store, |tx, account, subject, data| {
        store::events::record(tx, now, account.as_ref(), &subject, "happened", "it happened", &data).await
    })
    .unwrap();
}

async fn what_happens_is_told_in_order(db: &Db) {
    let site = Site::new(db).await;
    sequencer(&db.store);
    let mut reader = Reader::open(&site, &site.alice, "?after=0", None).await;
    let id = site.rented("job").await;
    let rented = reader.next().await;
    assert_eq!((rented["kind"].as_str(), rented["subject"].as_str()), (Some("state-changed"), Some(id.as_str())));
    assert_eq!(rented["data"]["state"], "requested");
    site.post(&site.alice, "/v1/instances/job/stop", json!({})).await.ok(202);
    assert_eq!(reader.next().await["kind"], "stop-accepted");
    site.post(&site.operator, "/v1/accounts/alpha/topups", json!({ "amount": "5" })).await.ok(201);
    let added = reader.next().await;
    assert_eq!((added["kind"].as_str(), added["data"]["amount"]["amount"].as_str()), (Some("topped-up"), Some("5.00")));
}

/// What somebody pays in, or brings along with his invitation, is told to its
/// account alone.
async fn money_that_comes_in_is_told_to_its_account(db: &Db) {
    let site = Site::new(db).await;
    sequencer(&db.store);
    let invited = site.post(&site.operator, "/v1/invitations", json!({ "credit": "25" })).await.ok(201);
    let mut bob = Reader::open(&site, &site.bob, "?after=0", None).await;
    let body = json!({ "name": "wei", "password": "correct horse battery", "invitation": invited["secret"] });
    crate::mailbox::stranger(&site, "/v1/signup", body.clone()).await.ok(201);
    let body = json!({ "user": "wei", "password": "correct horse battery" });
    let token = crate::mailbox::stranger(&site, "/v1/login", body).await.ok(201)["token"].as_str().unwrap().to_owned();
    let wei = Person { id: site.alice.id.clone(), token };
    let mut told = Reader::open(&site, &wei, "?after=0", None).await;
    let mut next = told.next().await;
    while next["kind"] != "topped-up" {
        next = told.next().await;
    }
    assert_eq!(next["data"]["amount"]["amount"], "25.00");
    site.post(&site.operator, "/v1/accounts/wei/topups", json!({ "amount": "7" })).await.ok(201);
    let next = told.next().await;
    assert_eq!((next["kind"].as_str(), next["data"]["amount"]["amount"].as_str()), (Some("topped-up"), Some("7.00")));
    record(&site.app, Some(&site.beta), "other", json!("last")).await;
    assert_eq!(bob.next().await["data"], "last");
}

/// Without a place to begin, it begins with what happens from now on.
async fn it_begins_where_it_is_told(db: &Db) {
    let site = Site::new(db).await;
    for n in 0..3 {
        record(&site.app, Some(&site.alpha), "x", json!({ "n": n })).await;
    }
    write!(db.store, |tx| store::events::sequence(tx).await).unwrap();
    sequencer(&db.store);
    let mut now = Reader::open(&site, &site.alice, "", None).await;
    let mut second = Reader::open(&site, &site.alice, "?after=1", None).await;
    // The header of a reader who comes back counts more than the address he began with.
    let mut third = Reader::open(&site, &site.alice, "?after=0", Some(2)).await;
    record(&site.app, Some(&site.alpha), "x", json!({ "n": 3 })).await;
    assert_eq!(now.next().await["data"]["n"], 3);
    assert_eq!(second.next().await["data"]["n"], 1);
    assert_eq!(third.next().await["data"]["n"], 2);
    for bad in ["x", "", "1.5", "99999999999999999999"] {
        let request = crate::site::request("GET", "/v1/events", Some(&site.alice), None, &[("last-event-id", bad)]);
        site.send(request).await.says(422, "invalid-request", &["Last-Event-ID"]);
    }
}

/// What one process did one after the other stays so, however quick it was.
async fn the_events_of_one_millisecond_keep_their_order(db: &Db) {
    let site = Site::new(db).await;
    let (account, now) = (site.alpha.clone(), site.app.now());
    write!(db.store, |tx, account| {
        for n in 0..50 {
            let at = now.after(base::Span::from_micros(n));
            store::events::record(tx, at, Some(&account), "x", "happened", "it happened", &json!({ "n": n })).await?;
        }
        store::events::sequence(tx).await
    })
    .unwrap();
    let mut reader = Reader::open(&site, &site.alice, "?after=0", None).await;
    for n in 0..50 {
        assert_eq!(reader.next().await["data"]["n"], n);
    }
}

const WRITERS: i64 = 4;
const EACH: i64 = 60;

/// Readers who break off and come back, while several write: each event once, in
/// order, also for one who belongs to several accounts.
async fn coming_back_neither_loses_nor_doubles(db: &Db) {
    let site = Site::new(db).await;
    let carol = person(&site.app, "carol", false).await;
    let mut accounts = Vec::new();
    for name in ["gamma", "delta", "epsilon"] {
        accounts.push(account(&site.app, name, &[&carol]).await);
    }
    sequencer(&db.store);
    let writers: Vec<_> = (0..WRITERS)
        .map(|w| {
            let (app, accounts) = (site.app.clone(), accounts.clone());
            tokio::spawn(async move {
                for n in 0..EACH {
                    let place = usize::try_from(n % 3).unwrap();
                    record(&app, Some(&accounts[place]), "x", json!({ "n": w * EACH + n })).await;
                }
            })
        })
        .collect();
    let (mut seen, mut last) = (Vec::new(), Some(0));
    while seen.len() < usize::try_from(WRITERS * EACH).unwrap() {
        let mut reader = Reader::open(&site, &carol, "", last).await;
        let most = 1 + seen.len() % 17;
        for _ in 0..most.min(usize::try_from(WRITERS * EACH).unwrap() - seen.len()) {
            seen.push(reader.next().await["data"]["n"].as_i64().unwrap());
        }
        last = Some(reader.last);
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len(), "none twice");
}

async fn strangers_events_never_appear(db: &Db) {
    let site = Site::new(db).await;
    sequencer(&db.store);
    let id = site.rented("job").await;
    let about = format!("?after=0&subject={id}");
    let mut readers = [
        Reader::open(&site, &site.bob, "?after=0", None).await,
        Reader::open(&site, &site.bob, &about, None).await,
        Reader::open(&site, &site.alice, &about, None).await,
        Reader::open(&site, &site.operator, "?after=0", None).await,
    ];
    record(&site.app, None, "node", json!("operator")).await;
    record(&site.app, Some(&site.alpha), id.as_str(), json!("alpha")).await;
    // What Bob may see of Alice's instance is only what is Bob's own.
    record(&site.app, Some(&site.beta), id.as_str(), json!("beta")).await;
    record(&site.app, Some(&site.beta), "other", json!("last")).await;
    let mut next = async |reader: usize| readers[reader].next().await["data"].clone();
    assert_eq!(next(0).await, "beta");
    assert_eq!(next(0).await, "last");
    assert_eq!(next(1).await, "beta");
    assert_eq!(next(2).await["state"], "requested");
    assert_eq!(next(2).await, "alpha");
    assert_eq!(next(3).await["state"], "requested");
    for want in ["operator", "alpha", "beta", "last"] {
        assert_eq!(next(3).await, want);
    }
    site.get(&site.bob, &format!("/v1/instances/{id}/events")).await.problem(404, "not-found");
}

/// Who does not read keeps nobody else from reading, and finds everything later.
async fn a_slow_reader_blocks_nobody(db: &Db) {
    let site = Site::new(db).await;
    sequencer(&db.store);
    let address = site.listen().await;
    let mut slow = Vec::new();
    for _ in 0..8 {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let head =
            format!("GET /v1/events?after=0 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n", site.alice.token);
        stream.write_all(head.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    let mut quick = Reader::open(&site, &site.alice, "?after=0", None).await;
    // More than the buffers on the way can hold.
    let padding = "x".repeat(64 * 1024);
    for n in 0..200 {
        record(&site.app, Some(&site.alpha), "x", json!({ "n": n, "padding": padding })).await;
        assert_eq!(quick.next().await["data"]["n"], n);
    }
    assert_eq!(site.get(&site.bob, "/v1/whoami").await.status, 200);
    let (mut text, mut piece) = (Vec::new(), vec![0; 1 << 20]);
    while !contains(&text, b"\"n\":199") {
        let read = tokio::time::timeout(Duration::from_secs(30), slow[0].read(&mut piece)).await.unwrap().unwrap();
        assert!(read > 0);
        // Only the part that may hold the end of the last event is kept.
        text.drain(..text.len().saturating_sub(100));
        text.extend_from_slice(&piece[..read]);
    }
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|w| w == wanted)
}

/// The client's own reader, over a real connection.
async fn the_client_follows(db: &Db) {
    let site = Site::new(db).await;
    sequencer(&db.store);
    let address = format!("http://{}", site.listen().await);
    let client = client::Client::new(&address, Some(&site.alice.token)).unwrap();
    let query = api::event::EventQuery { after: Some(0), subject: None };
    let mut events = client.events(&query).await.unwrap();
    let request = api::instance::RentRequest { gpu: CARD.into(), ..Default::default() };
    let made = client.rent(&request, &client::Key::fresh()).await.unwrap();
    let event = tokio::time::timeout(Duration::from_secs(30), events.next()).await.unwrap().unwrap();
    assert_eq!(event.subject, made.id.as_str());
    assert_eq!(client.server_version().await.unwrap().as_deref(), Some(env!("CARGO_PKG_VERSION")));
    client.logout().await.unwrap();
    assert_eq!(client.whoami().await.unwrap_err().cause(), base::Cause::Unauthenticated);
}

both!(
    what_happens_is_told_in_order,
    money_that_comes_in_is_told_to_its_account,
    it_begins_where_it_is_told,
    the_events_of_one_millisecond_keep_their_order,
    coming_back_neither_loses_nor_doubles,
    strangers_events_never_appear,
    a_slow_reader_blocks_nobody,
    the_client_follows,
);
