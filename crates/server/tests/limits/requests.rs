//! How often somebody may ask, and how many may be connected.

use std::time::Duration;

use serde_json::json;
use server::limits::{Limits, Rate};
use server::observed::{Limit, Open};

use crate::db::Db;
use crate::raw::{Raw, request};
use crate::served::{PATIENCE, Served, generous};
use crate::site::Site;

const DAY: Duration = Duration::from_secs(86_400);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_token_is_limited_and_another_is_not_and_waiting_as_told_helps() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let per_token = Rate { every: Duration::from_secs(1), burst: 3 };
    let served = Served::new(&site, Limits { per_token, ..generous() }).await;
    let mut raw = Raw::connect(served.address).await;
    let whoami = |by| request("GET", "/v1/whoami", Some(by), None, &[]);
    for _ in 0..3 {
        assert_eq!(raw.ask(&whoami(&site.alice)).await.status, 200);
    }
    // On a slow machine a second may have passed meanwhile, and one more was admitted.
    let refused = loop {
        let answer = raw.ask(&whoami(&site.alice)).await;
        if answer.status != 200 {
            break answer;
        }
    };
    let problem = refused.refusal(429, "rate-limited");
    assert!(problem["request_id"].is_string());
    assert_eq!(refused.wait(), 1);
    assert_eq!(raw.ask(&whoami(&site.bob)).await.status, 200);
    tokio::time::sleep(Duration::from_secs(refused.wait())).await;
    assert_eq!(raw.ask(&whoami(&site.alice)).await.status, 200);
    assert!(served.observed.times_limited(Limit::Token) >= 1);
    served.end().await;
    db.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_behind_a_declared_proxy_are_limited_each() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let per_address = Rate { every: DAY, burst: 2 };
    let limits = Limits { per_address, behind_proxy: true, ..generous() };
    let served = Served::new(&site, limits.clone()).await;
    let mut raw = Raw::connect(served.address).await;
    let from = |forwarded: &str| request("GET", "/healthz", None, None, &[("x-forwarded-for", forwarded)]);
    assert_eq!(raw.ask(&from("198.51.100.1")).await.status, 200);
    assert_eq!(raw.ask(&from("10.0.0.1, 198.51.100.1")).await.status, 200);
    // What the caller wrote in front of the proxy's entry gives him no other bucket.
    let refused = raw.ask(&from("10.0.0.2, 198.51.100.1")).await;
    refused.refusal(429, "rate-limited");
    assert!(refused.wait() > 86_000 && refused.wait() <= 86_400, "{}", refused.wait());
    assert_eq!(raw.ask(&from("198.51.100.2")).await.status, 200);
    served.end().await;

    // Without the declaration the header is not read, and loopback has no limit of its own.
    let served = Served::new(&site, Limits { behind_proxy: false, ..limits }).await;
    let mut raw = Raw::connect(served.address).await;
    for _ in 0..5 {
        assert_eq!(raw.ask(&from("198.51.100.1")).await.status, 200);
    }
    served.end().await;
    db.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guessing_passwords_is_slow_and_locks_nobody_out() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let made = site.post(&site.operator, "/v1/accounts", json!({ "name": "carol" })).await.ok(201);
    let password = made["password"].as_str().unwrap();
    let limits = Limits { logins: Rate { every: DAY, burst: 3 }, behind_proxy: true, ..generous() };
    let served = Served::new(&site, limits).await;
    let mut raw = Raw::connect(served.address).await;
    let log_in = |password: &str, from: &str| {
        let body = json!({ "user": "carol", "password": password });
        request("POST", "/v1/login", None, Some(&body), &[("x-forwarded-for", from)])
    };
    let (guesser, home) = ("198.51.100.66", "203.0.113.5");
    for _ in 0..3 {
        raw.ask(&log_in("guess", guesser)).await.refusal(401, "unauthenticated");
    }
    let refused = raw.ask(&log_in("guess", guesser)).await;
    refused.refusal(429, "rate-limited");
    assert!(refused.wait() > 86_000);
    // Nor does the right password help there: a guess is not looked at any more.
    raw.ask(&log_in(password, guesser)).await.refusal(429, "rate-limited");
    // She herself, elsewhere, may err and sign in as often as she likes.
    for _ in 0..3 {
        raw.ask(&log_in("slip", home)).await.refusal(401, "unauthenticated");
        assert_eq!(raw.ask(&log_in(password, home)).await.status, 201);
    }
    assert_eq!(served.observed.times_limited(Limit::Login), 2);
    served.end().await;
    db.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_connection_too_many_is_told_so_at_once_and_room_comes_back() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let served = Served::new(&site, Limits { connections: 3, ..generous() }).await;
    let healthz = request("GET", "/healthz", None, None, &[]);
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut raw = Raw::connect(served.address).await;
        assert_eq!(raw.ask(&healthz).await.status, 200);
        held.push(raw);
    }
    // It is answered before it has asked for anything.
    let refused = Raw::connect(served.address).await.hear().await;
    refused.refusal(503, "unavailable");
    assert!(refused.wait() > 0);
    assert_eq!(refused.header("connection"), Some("close"));
    // One that asks at the same moment gets the answer too.
    Raw::connect(served.address).await.ask(&healthz).await.refusal(503, "unavailable");
    assert_eq!(served.observed.times_limited(Limit::Connections), 2);
    for raw in &mut held {
        assert_eq!(raw.ask(&healthz).await.status, 200);
    }
    held.pop();
    served.until_open(Open::Connections, 2).await;
    assert_eq!(Raw::connect(served.address).await.ask(&healthz).await.status, 200);
    drop(held);
    served.until_open(Open::Connections, 0).await;
    served.end().await;
    db.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_being_answered_at_the_end_is_answered() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let served = Served::new(&site, generous()).await;
    let mut resting = Raw::connect(served.address).await;
    assert_eq!(resting.ask(&request("GET", "/healthz", None, None, &[])).await.status, 200);
    let mut raw = Raw::connect(served.address).await;
    let body = json!({ "amount": "1" }).to_string();
    let path = format!("/v1/accounts/{}/topups", site.alpha);
    let head = request(
        "POST",
        &path,
        Some(&site.operator),
        None,
        &[
            ("content-type", "application/json"),
            ("content-length", &body.len().to_string()),
            ("expect", "100-continue"),
        ],
    );
    raw.send(&head).await;
    // The server asks for the body: the request is being answered.
    assert!(raw.head().await.starts_with("HTTP/1.1 100"));
    let ending = tokio::spawn(served.end());
    assert!(resting.rest().await.is_empty(), "a connection at rest is closed");
    assert_eq!(raw.ask(&body).await.status, 201);
    tokio::time::timeout(PATIENCE, ending).await.unwrap().unwrap();
    db.end().await;
}
