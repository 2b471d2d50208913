//! Who did what: searched, exported, checked.

use serde_json::{Value, json};

use crate::db::{Db, both, write};
use crate::site::{CARD, Site, request};

/// Chains what is not chained yet, as the controllers do.
pub async fn chain(site: &Site) {
    while write!(site.app.store, |tx| store::audit_log::chain(tx).await).unwrap() > 0 {}
}

async fn entries_are_found_by_who_what_and_when(db: &Db) {
    let site = Site::new(db).await;
    let id = site.rented("job").await;
    site.post(&site.alice, &format!("/v1/instances/{id}/stop"), json!({})).await.ok(202);
    site.post(&site.alice, &format!("/v1/instances/{id}/stop"), json!({})).await.problem(409, "wrong-state");
    site.post(&site.bob, "/v1/instances", json!({ "gpu": CARD })).await.ok(202);
    assert_eq!(site.get(&site.operator, "/v1/audit-log").await.ok(200)["items"], json!([]), "not chained yet");
    chain(&site).await;
    let find =
        async |query: &str| site.get(&site.operator, &format!("/v1/audit-log?{query}")).await.ok(200)["items"].clone();
    let actions = |items: &Value| -> Vec<String> {
        items.as_array().unwrap().iter().map(|e| e["action"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(actions(&find("").await), ["rent", "stop", "stop", "rent"]);
    assert_eq!(actions(&find("actor=alice").await), ["stop", "stop", "rent"]);
    assert_eq!(actions(&find(&format!("actor={}", site.bob.id)).await), ["rent"]);
    assert_eq!(actions(&find("action=stop").await), ["stop", "stop"]);
    assert_eq!(actions(&find(&format!("object={id}")).await), ["stop", "rent"]);
    let all = find("").await;
    let (refused, rented) = (&all[1], &all[3]);
    assert_eq!((refused["result"].as_str(), refused["code"].as_str()), (Some("refused"), Some("wrong-state")));
    assert_eq!((rented["result"].as_str(), rented["account"].as_str()), (Some("done"), Some(site.alpha.as_str())));
    assert_eq!((&rented["actor"]["kind"], &rented["actor"]["name"]), (&json!("user"), &json!("alice")));
    assert_eq!(rented["after"]["gpu"], CARD);
    assert!(rented["request_id"].as_str().unwrap().starts_with("req-"));
    let second = all[2]["at"].as_str().unwrap();
    assert_eq!(find(&format!("from={second}")).await.as_array().unwrap().len(), 3);
    assert_eq!(find(&format!("to={second}")).await.as_array().unwrap().len(), 1);
    let page = site.get(&site.operator, "/v1/audit-log?limit=3").await.ok(200);
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = find(&format!("limit=3&cursor={cursor}")).await;
    assert_eq!(
        (page["items"][2]["seq"].as_i64(), rest[0]["seq"].as_i64(), rest.as_array().unwrap().len()),
        (Some(2), Some(1), 1)
    );
    site.get(&site.operator, "/v1/audit-log?cursor=x").await.problem(422, "invalid-request");
    site.get(&site.operator, "/v1/audit-log?limit=201").await.problem(422, "invalid-request");
    site.get(&site.alice, "/v1/audit-log").await.problem(403, "forbidden");
}

async fn an_export_is_the_whole_log_and_a_change_is_found(db: &Db) {
    let site = Site::new(db).await;
    for n in 0..3 {
        site.rented(&format!("job-{n}")).await;
    }
    chain(&site).await;
    let export = site.send(request("GET", "/v1/audit-log/export", Some(&site.operator), None, &[])).await;
    assert_eq!((export.status, export.header("content-type")), (200, "application/x-ndjson"));
    let lines: Vec<Value> = export.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<_> = lines.iter().map(|line| line["seq"].as_i64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let list = site.get(&site.operator, "/v1/audit-log").await.ok(200)["items"].clone();
    assert_eq!(list.as_array().unwrap().iter().rev().collect::<Vec<_>>(), lines.iter().collect::<Vec<_>>());
    // That it was taken away is written down too.
    chain(&site).await;
    let check = async || site.get(&site.operator, "/v1/audit-log/check").await.ok(200);
    assert_eq!(check().await, json!({ "entries": 4, "intact": true }));
    write!(db.store, |tx| {
        sqlx::query("UPDATE audit_log SET actor_name = 'mallory' WHERE seq = 2").execute(&mut **tx).await?;
        Ok(())
    })
    .unwrap();
    assert_eq!(check().await, json!({ "entries": 2, "intact": false, "broken_at": 2 }));
}

/// More entries than are read at once.
async fn a_long_log_is_exported_whole(db: &Db) {
    let site = Site::new(db).await;
    let id = site.rented("job").await;
    let now = site.app.now();
    let actor = store::audit_log::Actor {
        kind: store::audit_log::ActorKind::System,
        id: None,
        name: None,
        address: None,
        request: None,
    };
    write!(db.store, |tx, id, actor| {
        for _ in 0..1_200 {
            let note = server::trail::Note::new(actor.clone(), "swept").to(&id);
            note.write(tx, now).await?;
        }
        Ok(())
    })
    .unwrap();
    chain(&site).await;
    let export = site.send(request("GET", "/v1/audit-log/export", Some(&site.operator), None, &[])).await;
    assert_eq!(export.text().lines().count(), 1_201);
}

async fn it_is_kept_for_ever_unless_the_operator_says_for_how_long(db: &Db) {
    let site = Site::new(db).await;
    let path = "/v1/audit-log/retention";
    assert_eq!(site.get(&site.operator, path).await.ok(200), json!({ "days": null }));
    for odd in [0, -1, 36_501] {
        site.put(&site.operator, path, json!({ "days": odd })).await.problem(422, "invalid-count");
    }
    assert_eq!(site.put(&site.operator, path, json!({ "days": 400 })).await.ok(200), json!({ "days": 400 }));
    assert_eq!(site.get(&site.operator, path).await.ok(200), json!({ "days": 400 }));
    assert_eq!(site.put(&site.operator, path, json!({})).await.ok(200), json!({ "days": null }));
}

both!(
    it_is_kept_for_ever_unless_the_operator_says_for_how_long,
    entries_are_found_by_who_what_and_when,
    an_export_is_the_whole_log_and_a_change_is_found,
    a_long_log_is_exported_whole,
);
