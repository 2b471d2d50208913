//! Incidents that an operator closes by hand.

use serde_json::json;
use store::incidents;

use crate::db::{Db, both, write};
use crate::site::Site;

async fn an_operator_closes_an_incident_and_what_he_found_stays_to_be_read(db: &Db) {
    let site = Site::new(db).await;
    let now = site.app.now();
    write!(db.store, |tx| incidents::open(tx, now, "clock-step", "nod-1", "look at the clock", "it jumped").await)
        .unwrap();
    let open = site.get(&site.operator, "/v1/incidents").await.ok(200)["incidents"][0].clone();
    assert!(open["closed_at"].is_null());
    let path = format!("/v1/incidents/{}/close", open["id"].as_str().unwrap());
    for bad in [json!({ "note": "n".repeat(1_001) }), json!({ "note": "bell \u{7}" }), json!({ "other": 1 })] {
        site.post(&site.operator, &path, bad).await.problem(422, "invalid-request");
    }
    let closed = site.post(&site.operator, &path, json!({ "note": " the battery was empty " })).await.ok(200);
    assert!(closed["closed_at"].is_string());
    assert_eq!((&closed["kind"], &closed["subject"]), (&open["kind"], &open["subject"]));
    // Closing it again changes nothing and tells nobody.
    assert_eq!(site.post(&site.operator, &path, json!({ "note": "again" })).await.ok(200), closed);
    assert_eq!(site.get(&site.operator, "/v1/incidents").await.ok(200)["incidents"][0], closed);
    let mut conn = db.store.read().await.unwrap();
    let told: Vec<String> =
        sqlx::query_scalar("SELECT message FROM events WHERE kind = 'incident-closed' AND account_id IS NULL")
            .fetch_all(&mut *conn)
            .await
            .unwrap();
    assert_eq!(told, ["operator closed the incident clock-step: the battery was empty"]);
    // What is not there, and what is no id.
    for id in ["inc-00000000000000000000000000", "x"] {
        let answer = site.post(&site.operator, &format!("/v1/incidents/{id}/close"), json!({})).await;
        answer.says(404, "not-found", &["suanli incident ls"]);
    }
    site.post(&site.alice, &path, json!({})).await.problem(403, "forbidden");
    // The same trouble later is a new incident.
    write!(db.store, |tx| incidents::open(tx, now, "clock-step", "nod-1", "look", "again").await).unwrap();
    assert_eq!(site.get(&site.operator, "/v1/incidents").await.ok(200)["incidents"].as_array().unwrap().len(), 2);
}

both!(an_operator_closes_an_incident_and_what_he_found_stays_to_be_read);
