//! What the machines that watch the server read.

use std::collections::BTreeMap;
use std::time::Duration;

use base::Span;

use crate::db::{Db, both};
use crate::site::{Person, Site, request};

struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

/// Reads the OpenMetrics text format; anything that is not of it fails.
fn parse(text: &str) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut known = Vec::new();
    let body = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
    for line in body.lines() {
        if let Some(told) = line.strip_prefix("# ") {
            let mut words = told.splitn(3, ' ');
            let (what, name) = (words.next().unwrap(), words.next().unwrap());
            assert!(["HELP", "TYPE", "UNIT"].contains(&what), "{line}");
            assert!(words.next().is_some_and(|rest| !rest.is_empty()), "{line}");
            known.push(name.to_owned());
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').unwrap()),
            None => (series, ""),
        };
        assert!(known.iter().any(|k| k == name || name.strip_suffix("_total") == Some(k)), "{line} is not told");
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{line}");
        let labels = labels.split(',').filter(|l| !l.is_empty()).map(|label| {
            let (key, value) = label.split_once('=').unwrap();
            let value = value.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
            (key.to_owned(), value.to_owned())
        });
        samples.push(Sample { name: name.to_owned(), labels: labels.collect(), value: value.parse().unwrap() });
    }
    samples
}

async fn every_line_is_understood_and_no_instance_is_named(db: &Db) {
    let site = Site::new(db).await;
    let id = site.running("secret-job", Span::from_secs(60)).await;
    site.rented("other-job").await;
    site.app.counts.step("instances", "running", Duration::from_millis(3));
    site.app.counts.failure("segments");
    let answer = site.send(request("GET", "/metrics", None, None, &[])).await;
    assert!(answer.header("content-type").starts_with("application/openmetrics-text; version=1.0.0"));
    let samples = parse(answer.text());
    let value = |name: &str, labels: &[(&str, &str)]| {
        let fits = |s: &&Sample| {
            s.name == format!("suanli_{name}") && labels.iter().all(|(k, v)| s.labels.get(*k).is_some_and(|l| l == v))
        };
        samples.iter().find(fits).unwrap_or_else(|| panic!("no {name} {labels:?}")).value
    };
    for kind in ["instances", "segments", "accounts"] {
        assert!(value("queue_due", &[("kind", kind)]) >= 0.0);
        assert!(value("queue_oldest_due_milliseconds", &[("kind", kind)]) >= 0.0);
    }
    assert_eq!(value("queue_due", &[("kind", "instances")]), 2.0);
    assert_eq!(value("instances", &[("state", "running")]), 1.0);
    assert_eq!(value("instances", &[("state", "requested")]), 1.0);
    assert_eq!(value("devices_allocated", &[]), 1.0);
    assert_eq!(value("controller_steps_total", &[("kind", "instances"), ("state", "running")]), 1.0);
    assert_eq!(value("controller_step_microseconds_total", &[("kind", "instances")]), 3_000.0);
    assert_eq!(value("controller_failures_total", &[("kind", "segments")]), 1.0);
    let row = site.row(&id).await;
    let Person { id: alice, token } = &site.alice;
    for private in [id.as_str(), row.slug.as_str(), "secret-job", "alpha", site.alpha.as_str(), alice.as_str(), token] {
        assert!(!answer.text().contains(private), "{private}");
    }
    let few = ["kind", "state", "what", "size", "method", "route", "status", "limit"];
    assert!(samples.iter().all(|s| s.labels.keys().all(|k| few.contains(&k.as_str()))));
}

/// Ready means that the controllers keep up; alive does not.
async fn a_server_that_falls_behind_is_not_ready(db: &Db) {
    let site = Site::new(db).await;
    site.rented("job").await;
    let ready = || site.send(request("GET", "/readyz", None, None, &[]));
    assert_eq!((ready().await.status, ready().await.text()), (200, "ready\n"));
    for (table, kind) in [("instances", "instances"), ("accounts", "accounts")] {
        for (late, status) in [(30, 200), (65, 503), (-3_600, 200)] {
            let due = site.app.now().before(Span::from_secs(late)).micros();
            let sql = format!("UPDATE {table} SET due_at = {due}");
            let mut conn = db.store.read().await.unwrap();
            sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut *conn).await.unwrap();
            drop(conn);
            let answer = ready().await;
            assert_eq!(answer.status, status, "{kind} {late} s late");
            if status == 503 {
                answer.says(503, "unavailable", &[kind, "behind", "log"]);
            }
            assert_eq!(site.send(request("GET", "/healthz", None, None, &[])).await.status, 200);
        }
    }
}

both!(every_line_is_understood_and_no_instance_is_named, a_server_that_falls_behind_is_not_ready);
