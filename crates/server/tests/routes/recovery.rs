//! Backup over HTTP, and the way out of recovery.

use base::{Span, Timestamp};
use client::Client;
use serde_json::json;

use crate::db::{Db, both};
use crate::site::{CARD, Site};

async fn a_backup_arrives_whole(db: &Db) {
    let site = Site::new(db).await;
    site.running("job", Span::from_secs(60)).await;
    let url = format!("http://{}", site.listen().await);
    let mut file = Vec::new();
    let taken = Client::new(&url, Some(&site.operator.token)).unwrap().backup(&mut file).await.unwrap();
    assert_eq!(taken.bytes, u64::try_from(file.len()).unwrap());
    assert_eq!((taken.rows["instances"], taken.rows["users"]), (1, 3));
    let refused = Client::new(&url, Some(&site.alice.token)).unwrap().backup(&mut Vec::new()).await.unwrap_err();
    assert_eq!(refused.cause(), base::Cause::Forbidden);
}

async fn recovery_is_shown_and_accepted_as_it_was_seen(db: &Db) {
    let site = Site::new(db).await;
    let id = site.running("job", Span::from_secs(60)).await;
    let none = site.get(&site.operator, "/v1/recovery").await.ok(200);
    assert_eq!(none, json!({ "recovering": false, "nodes": [] }));
    let refused = site.post(&site.operator, "/v1/recovery/accept", json!({ "seen": "x" })).await;
    refused.says(409, "wrong-state", &["not in recovery"]);

    let now = site.app.now();
    let begun = store::recovery::Recovery { since: now, made_at: Timestamp::EPOCH, proven: Default::default() };
    let (text, node) = (serde_json::to_string(&begun).unwrap(), site.node.clone());
    let seen =
        store::recovery::Seen { id: id.clone(), generation: 1, running: true, ready_at: Some(now), devices: vec![] };
    db.store
        .write(move |tx| {
            let (text, node, seen) = (text.clone(), node.clone(), seen.clone());
            Box::pin(async move {
                store::site::set(tx, store::recovery::KEY, &text).await?;
                store::recovery::note(tx, &node, vec![seen]).await
            })
        })
        .await
        .unwrap();
    let view = site.get(&site.operator, "/v1/recovery").await.ok(200);
    assert_eq!(view["recovering"], true);
    assert_eq!(view["nodes"][0]["instances"][0]["difference"], "same");
    assert_eq!(site.get(&site.operator, "/readyz").await.text(), "ready, in recovery\n");
    let rent = site.post(&site.alice, "/v1/instances", json!({ "gpu": CARD })).await;
    rent.says(503, "in-recovery", &["restored from a backup", "suanli recovery show"]);
    let stop = site.post(&site.alice, &format!("/v1/instances/{id}/stop"), json!({})).await;
    stop.problem(503, "in-recovery");
    let wrong = site.post(&site.operator, "/v1/recovery/accept", json!({ "seen": "x" })).await;
    wrong.says(409, "wrong-state", &["recovery show"]);
    let done = site.post(&site.operator, "/v1/recovery/accept", json!({ "seen": view["digest"] })).await.ok(200);
    assert_eq!(done, json!({ "adopted": 0, "lost": 0, "unknown": 0, "silent": 0 }));
    site.post(&site.alice, &format!("/v1/instances/{id}/stop"), json!({})).await.ok(202);
}

both!(a_backup_arrives_whole, recovery_is_shown_and_accepted_as_it_was_seen);
