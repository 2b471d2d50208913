//! Planted secrets are looked for wherever they must not be.

use std::io::Write;
use std::sync::{Arc, Mutex};

use base::Span;
use serde_json::{Value, json};
use store::secrets::Keyring;
use tracing_subscriber::fmt::MakeWriter;

use crate::db::Db;
use crate::site::{CARD, Site, request};

const ENV: &str = "planted-env-2f41";
const START: &str = "planted-start-77c9";
const PASSWORD: &str = "planted-password-a0b3";
const TOKEN: &str = "suanli_planted-token-d6e8";

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(data)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;
    fn make_writer(&self) -> Self {
        self.clone()
    }
}

async fn whole_backup(site: &Site) -> String {
    let answer = site.get(&site.operator, "/v1/backup").await;
    assert_eq!(answer.status, 200);
    answer.text().to_owned()
}

/// Everything that left the server in answers, and what it keeps.
async fn planted_secrets_are_nowhere(db: &Db) {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).with_writer(log.clone()).finish();
    // The runtime has this one thread.
    let _guard = tracing::subscriber::set_default(subscriber);
    let keys = Keyring::parse(&Keyring::generate().unwrap()).unwrap();
    let store = db.store.clone().with_keys(keys).await.unwrap();
    drop(store);
    let site = Site::new(db).await;
    let mut told: Vec<String> = vec![site.document().to_string()];
    let wish = json!({ "gpu": CARD, "name": "job", "env": { "TOKEN": ENV }, "on_start": format!("use {START}") });
    let rented = site.post_with_key(&site.alice, "/v1/instances", wish.clone(), "key-1").await.ok(202);
    site.post_with_key(&site.alice, "/v1/instances", wish.clone(), "key-1").await.ok(202);
    let id: base::InstanceId = rented["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(site.row(&id).await.env["TOKEN"], ENV, "the machine gets it");
    site.run(&id, Span::from_secs(60)).await;

    // Refusals of every kind with a secret in them.
    let mut changed = wish.clone();
    changed["count"] = 2.into();
    let refused: [(&str, Value); 8] = [
        ("/v1/instances", json!({ "gpu": CARD, "env": { "1 BAD": ENV } })),
        ("/v1/instances", json!({ "gpu": CARD, "env": ENV })),
        ("/v1/instances", json!({ "gpu": CARD, "env": { "A": [ENV] } })),
        ("/v1/instances", json!({ "gpu": CARD, "env": { "A": ENV }, "on_start": { "x": START } })),
        ("/v1/instances", json!({ "gpu": CARD, "env": { "A": format!("{ENV}\u{0}") } })),
        ("/v1/instances", json!({ "gpu": CARD, "count": 99, "env": { "A": ENV }, "on_start": START })),
        ("/v1/login", json!({ "user": "alice", "password": PASSWORD })),
        ("/v1/login", json!({ "user": "alice", "password": PASSWORD, "name": [PASSWORD] })),
    ];
    for (path, body) in refused {
        let answer = site.send(request("POST", path, Some(&site.alice), Some(&body), &[])).await;
        assert!(answer.status >= 400, "{path} {body}");
        told.push(answer.text().to_owned());
    }
    let other = site.post_with_key(&site.alice, "/v1/instances", changed, "key-1").await;
    other.problem(409, "idempotency-mismatch");
    told.push(other.text().to_owned());
    let stranger = crate::site::Person { id: site.alice.id.clone(), token: TOKEN.into() };
    told.push(site.get(&stranger, "/v1/whoami").await.text().to_owned());

    // What a member, another account's member and the operator see.
    let mut shown = Vec::new();
    for by in [&site.alice, &site.bob, &site.operator] {
        for path in ["/v1/instances", &format!("/v1/instances/{id}"), &format!("/v1/instances/{id}/events")] {
            shown.push(site.get(by, path).await.text().to_owned());
        }
        told.push(site.get(by, &format!("/v1/instances/{id}/why")).await.text().to_owned());
    }
    for text in &shown {
        assert!(!text.contains(ENV), "no view shows the environment: {text}");
    }
    told.push(site.send(request("GET", "/metrics", None, None, &[])).await.text().to_owned());
    told.push(whole_backup(&site).await);
    told.push(String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned());
    if let Some(path) = db.url.strip_prefix("sqlite://") {
        for ending in ["", "-wal"] {
            let file = std::fs::read(format!("{path}{ending}")).unwrap_or_default();
            told.push(String::from_utf8_lossy(&file).into_owned());
        }
    }
    let tokens = [&site.alice.token, &site.operator.token];
    for text in &told {
        for word in [ENV, START, PASSWORD, TOKEN].into_iter().chain(tokens.iter().map(|t| t.as_str())) {
            if let Some(at) = text.find(word) {
                let from = text[..at].char_indices().rev().nth(200).map_or(0, |(i, _)| i);
                panic!("{word} shows: …{}", &text[from..at + word.len()]);
            }
        }
    }
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(log.contains("refused") && log.contains("DEBUG"), "the log was not caught");
}

#[tokio::test]
async fn planted_secrets_are_nowhere_on_sqlite() {
    let db = Db::sqlite().await;
    planted_secrets_are_nowhere(&db).await;
}

#[tokio::test]
async fn planted_secrets_are_nowhere_on_postgres() {
    if let Some(db) = Db::postgres().await {
        planted_secrets_are_nowhere(&db).await;
        db.end().await;
    }
}
