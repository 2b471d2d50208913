//! Callers who take their time, and a server that does.

use std::time::Duration;

use serde_json::json;
use server::limits::Limits;
use server::observed::{Limit, Open};
use sqlx::{AnyConnection, Connection, Executor};

use crate::db::Db;
use crate::raw::{Raw, request};
use crate::served::{Served, generous};
use crate::site::Site;

const SHORT: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_a_head_and_a_connection_at_rest_are_closed_after_their_time() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let served = Served::new(&site, Limits { head: SHORT, ..generous() }).await;
    let silent = Raw::connect(served.address).await;
    let mut half = Raw::connect(served.address).await;
    half.send("GET /healthz HTTP/1.1\r\nhost: te").await;
    let mut rests = Raw::connect(served.address).await;
    assert_eq!(rests.ask(&request("GET", "/healthz", None, None, &[])).await.status, 200);
    for raw in [silent, half, rests] {
        let told = String::from_utf8(raw.rest().await).unwrap();
        assert!(!told.contains("200 OK"), "{told}");
    }
    served.until_open(Open::Connections, 0).await;
    served.end().await;
    db.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_comes_byte_by_byte_is_not_waited_for_without_end() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let served = Served::new(&site, Limits { head: SHORT, ..generous() }).await;
    let mut drip = Raw::connect(served.address).await;
    drip.send("GET /healthz HTTP/1.1\r\n").await;
    let (mut read, mut write) = drip.stream.split();
    let dripping = async {
        loop {
            if tokio::io::AsyncWriteExt::write_all(&mut write, b"x: y\r\n").await.is_err() {
                return;
            }
            tokio::time::sleep(SHORT / 10).await;
        }
    };
    let mut nothing = Vec::new();
    let closed = tokio::io::AsyncReadExt::read_to_end(&mut read, &mut nothing);
    crate::served::within(async {
        tokio::select! {
            () = dripping => {}
            _ = closed => {}
        }
    })
    .await;
    served.until_open(Open::Connections, 0).await;
    served.end().await;
    db.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_does_not_come_is_told_from_a_server_that_is_slow() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let served = Served::new(&site, Limits { answer: SHORT, ..generous() }).await;
    let mut raw = Raw::connect(served.address).await;
    let head =
        request("POST", "/v1/login", None, None, &[("content-type", "application/json"), ("content-length", "100")]);
    let answer = raw.ask(&(head + "{\"user\":")).await;
    let problem = answer.refusal(408, "invalid-request");
    assert!(problem["detail"].as_str().unwrap().contains("body did not arrive"), "{problem}");
    assert_eq!(answer.header("connection"), Some("close"));
    raw.rest().await;
    assert_eq!(served.observed.times_limited(Limit::Time), 1);
    served.end().await;
    db.end().await;
}

/// Whoever is told that it took too long does not know whether it was done. With
/// his key he finds out, and it is done once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_store_is_told_in_time_and_nothing_is_done_twice() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let served = Served::new(&site, Limits { answer: SHORT, ..generous() }).await;
    let mut other = AnyConnection::connect(&db.url).await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();

    let path = format!("/v1/accounts/{}/topups", site.alpha);
    let top_up = |key: &str| {
        let body = json!({ "amount": "7" });
        request("POST", &path, Some(&site.operator), Some(&body), &[("idempotency-key", key)])
    };
    let answer = Raw::connect(served.address).await.ask(&top_up("first")).await;
    let problem = answer.refusal(503, "unavailable");
    assert!(problem["hint"].as_str().unwrap().contains("same idempotency key"), "{problem}");
    assert!(answer.wait() > 0);
    // Reading goes on meanwhile.
    let balance = request("GET", "/v1/balance", Some(&site.alice), None, &[]);
    let before = Raw::connect(served.address).await.ask(&balance).await.json();
    assert_eq!(before["posted"]["micros"], 1_000_000_000, "{before}");

    other.execute("COMMIT").await.unwrap();
    let mut raw = Raw::connect(served.address).await;
    let postings = crate::served::within(async {
        loop {
            let again = raw.ask(&top_up("first")).await;
            if again.status == 201 {
                return (again.json(), raw.ask(&top_up("first")).await.json());
            }
            again.refusal(503, "unavailable");
            raw = Raw::connect(served.address).await;
        }
    })
    .await;
    assert_eq!(postings.0["posting"], postings.1["posting"]);
    assert_eq!(site.number("SELECT COUNT(*) FROM postings WHERE amount = 7000000").await, 1);
    served.end().await;
    db.end().await;
}

/// What is confirmed later happened later, also when each commit has to wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_store_keeps_the_order_in_which_it_confirms() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    crate::site::sequencer(&db.store);
    let served = Served::new(&site, generous()).await;
    let url = db.url.clone();
    let (done, mut stop) = tokio::sync::oneshot::channel::<()>();
    let holding = tokio::spawn(async move {
        let mut other = AnyConnection::connect(&url).await.unwrap();
        other.execute("PRAGMA busy_timeout = 10000").await.unwrap();
        while stop.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty) {
            other.execute("BEGIN IMMEDIATE").await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
            other.execute("COMMIT").await.unwrap();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    let mut confirmed = Vec::new();
    let mut raw = Raw::connect(served.address).await;
    for n in 1..=20 {
        let account = if n % 2 == 0 { &site.alpha } else { &site.beta };
        let body = json!({ "amount": n.to_string() });
        let path = format!("/v1/accounts/{account}/topups");
        let answer = raw.ask(&request("POST", &path, Some(&site.operator), Some(&body), &[])).await;
        assert_eq!(answer.status, 201);
        confirmed.push(format!("{n}.00 added"));
    }
    done.send(()).unwrap();
    holding.await.unwrap();
    let told = crate::served::within(async {
        loop {
            let mut conn = db.store.read().await.unwrap();
            let told: Vec<String> = sqlx::query_scalar(
                "SELECT message FROM events WHERE kind = 'topped-up' AND seq IS NOT NULL ORDER BY seq",
            )
            .fetch_all(&mut *conn)
            .await
            .unwrap();
            if told.len() >= confirmed.len() {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(told, confirmed);
    served.end().await;
    db.end().await;
}
