//! What the server counts of itself.

use std::collections::BTreeSet;

use server::metrics::ALL;
use server::observed::Open;
use store::incidents;

use crate::db::{Db, write};
use crate::raw::{Raw, request};
use crate::served::{Served, generous};
use crate::site::{Site, sequencer};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_is_listed_is_told_and_nothing_else() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    // What has no value yet is not told, so each has to happen once.
    let id = site.rented("job").await.to_string();
    let now = site.app.now();
    site.app.counts.step("instances", "running", std::time::Duration::from_millis(1));
    site.app.counts.failure("instances");
    site.app.counts.lost_lease("instances");
    write!(db.store, |tx, id| {
        sqlx::query("UPDATE instances SET deadline_at = 1").execute(&mut **tx).await?;
        incidents::open(tx, now, "stuck-state", &id, "look", "it is late").await
    })
    .unwrap();
    let text = site.send(request_of("/metrics")).await;
    let told: BTreeSet<&str> =
        text.text().lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let listed: BTreeSet<String> = ALL.iter().map(|m| format!("suanli_{}", m.name)).collect();
    assert_eq!(told, listed.iter().map(String::as_str).collect());
    db.end().await;
}

fn request_of(path: &str) -> axum::http::Request<axum::body::Body> {
    crate::site::request("GET", path, None, None, &[])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_readers_and_the_database_are_counted() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let served = Served::new(&site, generous()).await;
    let mut raw = Raw::connect(served.address).await;
    let id = site.rented("job").await;
    for path in ["/v1/instances/job", &format!("/v1/instances/{id}"), "/v1/instances/nothing"] {
        raw.ask(&request("GET", path, Some(&site.alice), None, &[])).await;
    }
    raw.ask(&request("BREW", "/no/such/path", None, None, &[])).await;
    let mut reader = Raw::connect(served.address).await;
    reader.send(&request("GET", "/v1/events", Some(&site.alice), None, &[])).await;
    served.until_open(Open::Readers, 1).await;
    // Nobody numbers events here yet, so what is written waits.
    let topped = serde_json::json!({ "amount": "1" });
    let path = format!("/v1/accounts/{}/topups", site.alpha);
    raw.ask(&request("POST", &path, Some(&site.operator), Some(&topped), &[])).await;
    let text = String::from_utf8(raw.ask(&request("GET", "/metrics", None, None, &[])).await.body).unwrap();
    let value = |series: &str| -> u64 {
        let found = text.lines().find_map(|line| line.strip_prefix(&format!("suanli_{series} ")));
        found.unwrap_or_else(|| panic!("no {series} in {text}")).parse().unwrap()
    };
    let route = |method: &str, route: &str, status: u16| {
        format!("{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}}")
    };
    assert_eq!(value(&format!("http_requests_total{}", route("GET", "/v1/instances/{id}", 200))), 2);
    assert_eq!(value(&format!("http_requests_total{}", route("GET", "/v1/instances/{id}", 404))), 1);
    assert_eq!(value(&format!("http_requests_total{}", route("other", "unmatched", 404))), 1);
    assert!(value(&format!("http_request_microseconds_total{}", route("GET", "/v1/instances/{id}", 200))) > 0);
    assert_eq!((value("connections"), value("event_readers"), value("streams")), (2, 1, 0));
    let writes = value("store_operations_total{what=\"write\"}");
    assert!(writes > 0 && value("store_operations_total{what=\"commit\"}") > 0);
    assert!(value("store_microseconds_total{what=\"commit\"}") > 0);
    assert!(value("store_operations_total{what=\"read-wait\"}") > 0);
    // One that is under way is in a group already.
    assert!(value("store_grouped_writes_total") >= writes);
    assert!(value("store_commit_groups_total{size=\"1\"}") > 0);
    assert!(value("events_unsequenced") > 0);
    assert!(!text.contains(id.as_str()) && !text.contains("/no/such/path") && !text.contains("BREW"), "{text}");
    sequencer(&db.store);
    crate::served::within(async {
        while site.number("SELECT COUNT(*) FROM events WHERE seq IS NULL").await > 0 {
            // The sequencer waits for a write; this is one.
            write!(db.store, |tx| {
                let _ = tx;
                Ok(())
            })
            .unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
    let after = site.send(request_of("/metrics")).await;
    assert!(after.text().contains("suanli_events_unsequenced 0\n"));
    drop(reader);
    served.until_open(Open::Readers, 0).await;
    served.end().await;
    db.end().await;
}
