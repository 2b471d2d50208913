//! Making accounts and their first users.

use futures_util::future::join_all;
use serde_json::json;

use crate::db::{Db, both};
use crate::site::{Site, request};

async fn a_new_account_has_a_user_who_can_sign_in(db: &Db) {
    let site = Site::new(db).await;
    let body = json!({ "name": "Lab 7", "user": "wei", "time_zone": "Asia/Shanghai" });
    let made = site.post(&site.operator, "/v1/accounts", body).await.ok(201);
    assert_eq!((made["account"]["name"].as_str(), made["user"].as_str()), (Some("Lab 7"), Some("wei")));
    assert_eq!(
        (made["account"]["currency"].as_str(), made["account"]["balance"]["micros"].as_i64()),
        (Some("CNY"), Some(0))
    );
    let login = json!({ "user": "wei", "password": made["password"] });
    let login = site.send(request("POST", "/v1/login", None, Some(&login), &[])).await.ok(201);
    assert_eq!(login["user"]["operator"], false);
    let listed = site.get(&site.operator, "/v1/accounts").await.ok(200);
    assert!(listed.as_array().unwrap().iter().any(|a| *a == made["account"]));
}

async fn names_are_taken_once(db: &Db) {
    let site = Site::new(db).await;
    let taken = site.post(&site.operator, "/v1/accounts", json!({ "name": "alpha" })).await;
    taken.says(409, "already-exists", &["alpha", "another name"]);
    for name in ["", "a\nb", "a\u{202e}b", &"x".repeat(101)] {
        site.post(&site.operator, "/v1/accounts", json!({ "name": name })).await.problem(422, "invalid-name");
        let body = json!({ "name": "fine", "user": name });
        site.post(&site.operator, "/v1/accounts", body).await.problem(422, "invalid-name");
    }
    let zone = json!({ "name": "fine", "time_zone": "Mars/Base" });
    site.post(&site.operator, "/v1/accounts", zone).await.says(422, "invalid-request", &["Mars/Base", "IANA"]);
    assert_eq!(site.number("SELECT COUNT(*) FROM accounts").await, 2);
    assert_eq!(site.number("SELECT COUNT(*) FROM users").await, 3);
}

/// An existing user joins; his password stays his own.
async fn an_existing_user_joins_and_keeps_his_password(db: &Db) {
    let site = Site::new(db).await;
    let made = site.post(&site.operator, "/v1/accounts", json!({ "name": "second", "user": "alice" })).await.ok(201);
    assert!(made.get("password").is_none(), "{made}");
    let accounts = site.get(&site.alice, "/v1/whoami").await.ok(200)["accounts"].clone();
    assert_eq!(accounts.as_array().unwrap().len(), 2);
    assert_eq!(site.number("SELECT COUNT(*) FROM users WHERE password_hash = 'no password'").await, 3);
}

/// Repeats give the same account; the password is shown only once, however many ask at once.
async fn a_repeat_does_not_show_the_password_again(db: &Db) {
    let site = Site::new(db).await;
    let ask = || site.post_with_key(&site.operator, "/v1/accounts", json!({ "name": "gamma" }), "k");
    let answers = join_all((0..6).map(|_| ask())).await;
    let made: Vec<_> = answers.iter().map(|a| a.ok(201)).collect();
    assert!(made.iter().all(|m| m["account"]["id"] == made[0]["account"]["id"]));
    assert_eq!(made.iter().filter(|m| m["password"].is_string()).count(), 1);
    assert!(ask().await.ok(201).get("password").is_none());
    let other = site.post_with_key(&site.operator, "/v1/accounts", json!({ "name": "delta" }), "k").await;
    other.problem(409, "idempotency-mismatch");
    assert_eq!(site.number("SELECT COUNT(*) FROM accounts").await, 3);
}

both!(
    a_new_account_has_a_user_who_can_sign_in,
    names_are_taken_once,
    an_existing_user_joins_and_keeps_his_password,
    a_repeat_does_not_show_the_password_again,
);
