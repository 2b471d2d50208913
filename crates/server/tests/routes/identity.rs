//! Who somebody really is, by the operator's own program or service.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::db::{Db, both};
use crate::mailbox::set;
use crate::site::{CARD, Site};

/// A program of the operator's.
fn program(folder: &tempfile::TempDir, script: &str) -> PathBuf {
    let path = folder.path().join("check");
    // Written elsewhere and moved: a program that is open for writing cannot be run.
    let part = folder.path().join("part");
    std::fs::write(&part, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&part, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(part, &path).unwrap();
    path
}

fn with_program(site: &mut Site, path: PathBuf) {
    site.app = site.app.clone().with_identity_command(Some(path));
    site.router = server::router(site.app.clone());
}

async fn who_is_not_identified_does_not_rent_where_that_is_required(db: &Db) {
    let folder = tempfile::tempdir().unwrap();
    let mut site = Site::new(db).await;
    let rent = json!({ "gpu": CARD });
    set(&site, json!({ "identity_required": true, "public_url": "https://gpu.example" })).await;
    let refused = site.post(&site.alice, "/v1/instances", rent.clone()).await;
    refused.says(409, "identity-needed", &["identity is verified", "https://gpu.example/settings/identity"]);
    site.post(&site.alice, "/v1/identity", json!({})).await.says(422, "not-offered", &["no way to verify"]);
    let kept = folder.path().join("asked").display().to_string();
    let script = format!("cat > {kept}; echo '{{\"state\":\"verified\",\"note\":\"by card\",\"more\":\"x\"}}'");
    with_program(&mut site, program(&folder, &script));
    let told = site.post(&site.alice, "/v1/identity", json!({ "number": "hush-310101" })).await.ok(200);
    assert_eq!(told, json!({ "state": "verified", "message": "by card" }));
    let asked: Value = serde_json::from_str(&std::fs::read_to_string(kept).unwrap()).unwrap();
    assert_eq!((&asked["user"]["name"], &asked["fields"]["number"]), (&json!("alice"), &json!("hush-310101")));
    assert_eq!(site.get(&site.alice, "/v1/identity").await.ok(200), told);
    assert_eq!(site.get(&site.alice, "/v1/whoami").await.ok(200)["user"]["identity"], "verified");
    site.post(&site.alice, "/v1/instances", rent.clone()).await.ok(202);
    // Another's result is his own, and what was sent is nowhere.
    site.post(&site.bob, "/v1/instances", rent).await.problem(409, "identity-needed");
    site.post(&site.alice, "/v1/identity", json!({})).await.problem(409, "wrong-state");
    assert_eq!(site.number("SELECT COUNT(*) FROM audit_log WHERE COALESCE(became, '') LIKE '%hush%'").await, 0);
    assert_eq!(
        site.number("SELECT COUNT(*) FROM audit_log WHERE action = 'check_identity' AND result = 'done'").await,
        1
    );
}

async fn a_program_that_does_not_answer_as_it_should_decides_nothing(db: &Db) {
    let folder = tempfile::tempdir().unwrap();
    let mut site = Site::new(db).await;
    for script in ["echo nonsense", "echo '{\"state\":\"verified\"}'; exit 3", "exit 0", "echo '{\"state\":\"great\"}'"]
    {
        with_program(&mut site, program(&folder, script));
        let answer = site.post(&site.alice, "/v1/identity", json!({})).await;
        answer.says(503, "unavailable", &["does not answer as it should"]);
    }
    with_program(&mut site, folder.path().join("missing"));
    site.post(&site.alice, "/v1/identity", json!({})).await.problem(503, "unavailable");
    assert_eq!(site.get(&site.alice, "/v1/identity").await.ok(200)["state"], "none");
}

async fn a_service_is_asked_until_it_knows(db: &Db) {
    let site = Site::new(db).await;
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let keep = asked.clone();
    let answer = async move |Json(body): Json<Value>| {
        let mut all = keep.lock().unwrap();
        all.push(body);
        Json(match all.len() {
            1 => json!({ "state": "pending", "note": "look at your telephone", "url": "https://id.example/go" }),
            _ => json!({ "state": "refused", "note": "not the same face" }),
        })
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/check", post(answer))).await.unwrap() });
    set(&site, json!({ "identity_url": format!("http://{address}/check") })).await;
    let first = site.post(&site.bob, "/v1/identity", json!({ "step": 1 })).await.ok(200);
    assert_eq!(
        first,
        json!({ "state": "pending", "message": "look at your telephone", "url": "https://id.example/go" })
    );
    assert_eq!(site.get(&site.bob, "/v1/identity").await.ok(200)["state"], "pending");
    let second = site.post(&site.bob, "/v1/identity", json!({})).await.ok(200);
    assert_eq!(second, json!({ "state": "refused", "message": "not the same face" }));
    assert_eq!(asked.lock().unwrap()[0]["fields"], json!({ "step": 1 }));
    set(&site, json!({ "identity_url": "http://127.0.0.1:1/" })).await;
    site.post(&site.bob, "/v1/identity", json!({})).await.problem(503, "unavailable");
    assert_eq!(site.get(&site.bob, "/v1/identity").await.ok(200)["state"], "refused");
}

both!(
    who_is_not_identified_does_not_rent_where_that_is_required,
    a_program_that_does_not_answer_as_it_should_decides_nothing,
    a_service_is_asked_until_it_knows,
);
