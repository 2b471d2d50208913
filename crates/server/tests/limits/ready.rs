//! When the server calls itself ready.

use base::Span;
use store::incidents;

use crate::answer::Answer;
use crate::db::{Db, both, write};
use crate::site::{Site, request};

async fn get(site: &Site, path: &str) -> Answer {
    site.send(request("GET", path, None, None, &[])).await
}

fn value(metrics: &Answer, series: &str) -> Option<i64> {
    metrics.text().lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

async fn a_missed_deadline_of_which_nobody_was_told_is_not_ready(db: &Db) {
    let site = Site::new(db).await;
    let id = site.rented("job").await;
    assert_eq!(get(&site, "/readyz").await.status, 200);
    let (now, due) = (site.app.now(), site.app.now().after(Span::from_secs(600)));
    for (late, status) in [(30, 200), (90, 503)] {
        let mut conn = db.store.read().await.unwrap();
        sqlx::query("UPDATE instances SET deadline_at = $2, due_at = $3 WHERE id = $1")
            .bind(id.as_str())
            .bind(now.before(Span::from_secs(late)).micros())
            .bind(due.micros())
            .execute(&mut *conn)
            .await
            .unwrap();
        drop(conn);
        assert_eq!(get(&site, "/readyz").await.status, status, "{late} s late");
    }
    get(&site, "/readyz").await.says(503, "unavailable", &["1 instances", "deadline", "no incident"]);
    let metrics = get(&site, "/metrics").await;
    assert_eq!(value(&metrics, "suanli_instances_late{state=\"requested\"}"), Some(1));
    assert_eq!(value(&metrics, "suanli_instances_late_untold"), Some(1));

    // An old incident of the same instance does not count; one for this deadline does, also once it is closed.
    let subject = id.to_string();
    let old = now.before(Span::from_secs(3_600));
    write!(db.store, |tx, subject| {
        incidents::open(tx, old, "stuck-state", &subject, "look", "long ago").await?;
        incidents::close(tx, old, "stuck-state", &subject).await
    })
    .unwrap();
    assert_eq!(get(&site, "/readyz").await.status, 503);
    write!(db.store, |tx, subject| incidents::open(tx, now, "stuck-state", &subject, "look", "now").await).unwrap();
    assert_eq!(get(&site, "/readyz").await.status, 200);
    let metrics = get(&site, "/metrics").await;
    assert_eq!(value(&metrics, "suanli_instances_late_untold"), Some(0));
    assert_eq!(value(&metrics, "suanli_incidents_open{kind=\"stuck-state\"}"), Some(1));
    write!(db.store, |tx, subject| incidents::close(tx, now, "stuck-state", &subject).await).unwrap();
    assert_eq!(get(&site, "/readyz").await.status, 200);
}

both!(a_missed_deadline_of_which_nobody_was_told_is_not_ready);
