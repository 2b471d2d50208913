//! API tokens: some of one's rights, for a time.

use base::{Span, Timestamp};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::db::{Db, both};
use crate::site::{Person, Site, account, person, request};

pub async fn token(site: &Site, by: &Person, body: Value) -> Person {
    let made = site.post(by, "/v1/tokens", body).await.ok(201);
    Person { id: by.id.clone(), token: made["token"].as_str().unwrap().to_owned() }
}

pub async fn delete(site: &Site, by: &Person, path: &str) -> Answer {
    site.send(request("DELETE", path, Some(by), None, &[])).await
}

async fn a_token_is_shown_once_and_works_until_it_is_taken_back(db: &Db) {
    let site = Site::new(db).await;
    let body = json!({ "name": " ci ", "scopes": ["read", "instances", "read"], "days": 30 });
    let made = site.post(&site.alice, "/v1/tokens", body).await.ok(201);
    assert_eq!((made["name"].as_str(), &made["scopes"]), (Some("ci"), &json!(["read", "instances"])));
    let ends: Timestamp = made["expires_at"].as_str().unwrap().parse().unwrap();
    let made_at: Timestamp = made["created_at"].as_str().unwrap().parse().unwrap();
    assert_eq!(ends, made_at.after(Span::from_hours(24 * 30)));
    let secret = made["token"].as_str().unwrap();
    assert!(secret.starts_with("suanli_") && secret.len() > 60);
    let list = site.get(&site.alice, "/v1/tokens").await;
    assert!(!list.text().contains(secret));
    assert_eq!(list.ok(200)["items"][0]["id"], made["id"]);
    assert_eq!(site.get(&site.bob, "/v1/tokens").await.ok(200)["items"], json!([]));
    let program = Person { id: site.alice.id.clone(), token: secret.to_owned() };
    assert_eq!(site.get(&program, "/v1/whoami").await.ok(200)["token"]["scopes"], json!(["read", "instances"]));
    site.get(&program, "/v1/instances").await.ok(200);
    let path = format!("/v1/tokens/{}", made["id"].as_str().unwrap());
    delete(&site, &site.bob, &path).await.problem(404, "not-found");
    assert_eq!(delete(&site, &site.alice, &path).await.status, 204);
    delete(&site, &site.alice, &path).await.problem(404, "not-found");
    site.get(&program, "/v1/whoami").await.problem(401, "unauthenticated");
}

async fn a_token_for_one_account_sees_no_other(db: &Db) {
    let site = Site::new(db).await;
    let carol = person(&site.app, "carol", false).await;
    account(&site.app, "gamma", &[&carol]).await;
    account(&site.app, "delta", &[&carol]).await;
    let program = token(&site, &carol, json!({ "name": "x", "scopes": ["read"], "account": "gamma" })).await;
    assert_eq!(site.get(&program, "/v1/balance").await.ok(200)["name"], "gamma");
    site.get(&program, "/v1/balance?account=delta").await.problem(404, "not-found");
    assert_eq!(site.get(&program, "/v1/whoami").await.ok(200)["accounts"].as_array().unwrap().len(), 1);
    site.post(&carol, "/v1/tokens", json!({ "name": "x", "scopes": ["read"], "account": "alpha" }))
        .await
        .problem(404, "not-found");
    // An operator sees every account, but a token takes its rights from what he is in one.
    site.post(&site.operator, "/v1/tokens", json!({ "name": "x", "scopes": ["read"], "account": "alpha" }))
        .await
        .problem(403, "forbidden");
}

async fn what_no_token_can_be(db: &Db) {
    let site = Site::new(db).await;
    let soon = site.app.now().after(Span::from_hours(1)).to_string();
    let late = site.app.now().after(Span::from_hours(24 * 366)).to_string();
    let past = site.app.now().before(Span::from_secs(1)).to_string();
    for (change, words) in [
        (json!({ "scopes": [] }), vec!["scope", "read, instances"]),
        (json!({ "scopes": ["everything"] }), vec!["everything", "read, instances"]),
        (json!({ "days": 0 }), vec!["365 days"]),
        (json!({ "days": 366 }), vec!["365 days"]),
        (json!({ "days": i64::MAX }), vec!["365 days"]),
        (json!({ "expires_at": late }), vec!["365 days"]),
        (json!({ "expires_at": past }), vec!["future"]),
        (json!({ "expires_at": soon, "days": 3 }), vec!["not both"]),
    ] {
        let mut body = json!({ "name": "x", "scopes": ["read"] });
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        site.post(&site.alice, "/v1/tokens", body).await.says(422, "invalid-request", &words);
    }
    site.post(&site.alice, "/v1/tokens", json!({ "name": "", "scopes": ["read"] })).await.problem(422, "invalid-name");
    assert_eq!(site.number("SELECT COUNT(*) FROM api_tokens").await, 0);
    site.post(&site.alice, "/v1/tokens", json!({ "name": "x", "scopes": ["read"], "expires_at": soon })).await.ok(201);
}

async fn tokens_do_not_make_or_take_tokens_and_keys(db: &Db) {
    let site = Site::new(db).await;
    let all = json!({ "name": "x", "scopes": ["read", "instances", "money", "members", "operate"] });
    let program = token(&site, &site.operator, all.clone()).await;
    site.post(&program, "/v1/tokens", all).await.says(403, "forbidden", &["API token", "sign in"]);
    site.get(&program, "/v1/tokens").await.problem(403, "forbidden");
    site.post(&program, "/v1/keys", json!({ "key": "x" })).await.problem(403, "forbidden");
    site.post(&program, "/v1/invitations/accept", json!({ "secret": "x" })).await.problem(403, "forbidden");
    site.get(&program, "/v1/accounts").await.ok(200);
}

both!(
    a_token_is_shown_once_and_works_until_it_is_taken_back,
    a_token_for_one_account_sees_no_other,
    what_no_token_can_be,
    tokens_do_not_make_or_take_tokens_and_keys,
);
