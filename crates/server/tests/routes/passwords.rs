//! Passwords, and where a user is signed in.

use std::time::Duration;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::db::{Db, both};
use crate::mailbox::{Mailbox, site_with_mail, stranger};
use crate::site::{Person, Site, request};

const NEW: &str = "correct horse battery";

async fn login(site: &Site, user: &str, password: &str) -> Answer {
    stranger(site, "/v1/login", json!({ "user": user, "password": password })).await
}

fn person(done: &Value) -> Person {
    Person {
        id: done["user"]["id"].as_str().unwrap().parse().unwrap(),
        token: done["token"].as_str().unwrap().to_owned(),
    }
}

/// A user with a one-time password and a proven address.
async fn wei(site: &Site) -> String {
    let made = site.post(&site.operator, "/v1/accounts", json!({ "name": "wei" })).await.ok(201);
    let mut db = site.app.store.read().await.unwrap();
    sqlx::query("UPDATE users SET email = 'wei@example.org', email_verified_at = 1 WHERE name = 'wei'")
        .execute(&mut *db)
        .await
        .unwrap();
    made["password"].as_str().unwrap().to_owned()
}

async fn signed_in(site: &Site, password: &str) -> Person {
    person(&login(site, "wei", password).await.ok(201))
}

async fn change(site: &Site, by: &Person, old: &str, new: &str) -> Answer {
    site.post(by, "/v1/password", json!({ "old": old, "new": new })).await
}

async fn another_password_ends_the_other_sessions(db: &Db) {
    let site = Site::new(db).await;
    let old = wei(&site).await;
    let (here, there) = (signed_in(&site, &old).await, signed_in(&site, &old).await);
    change(&site, &here, "wrong", NEW).await.says(403, "forbidden", &["old password is wrong"]);
    change(&site, &here, &old, "wei-1234").await.problem(422, "weak-password");
    change(&site, &here, &old, "wei@example.org").await.says(422, "weak-password", &["own name or address"]);
    assert_eq!(change(&site, &here, &old, NEW).await.status, 204);
    site.get(&there, "/v1/whoami").await.problem(401, "unauthenticated");
    site.get(&here, "/v1/whoami").await.ok(200);
    login(&site, "wei", &old).await.problem(401, "unauthenticated");
    // By his address too, however it is written.
    login(&site, " WEI@Example.org", NEW).await.ok(201);
    let log = "SELECT COUNT(*) FROM audit_log WHERE action = 'change_password'";
    assert_eq!(site.number(log).await, 4, "three refusals and one deed");
}

async fn a_program_does_not_change_who_somebody_is(db: &Db) {
    let site = Site::new(db).await;
    let token = site.post(&site.alice, "/v1/tokens", json!({ "name": "ci", "scopes": ["read", "instances"] })).await;
    let program = Person { id: site.alice.id.clone(), token: token.ok(201)["token"].as_str().unwrap().to_owned() };
    let session = site.get(&site.alice, "/v1/sessions").await.ok(200)["items"][0]["id"].clone();
    change(&site, &program, "x", NEW).await.says(403, "forbidden", &["an API token may not"]);
    for path in ["/v1/totp", "/v1/email/resend"] {
        site.send(request("POST", path, Some(&program), None, &[])).await.problem(403, "forbidden");
    }
    site.post(&program, "/v1/logout-everywhere", json!({ "tokens": true })).await.problem(403, "forbidden");
    site.post(&program, "/v1/identity", json!({})).await.problem(403, "forbidden");
    let end = format!("/v1/sessions/{}", session.as_str().unwrap());
    site.send(request("DELETE", &end, Some(&program), None, &[])).await.problem(403, "forbidden");
    assert_eq!(site.get(&program, "/v1/whoami").await.ok(200)["token"]["scopes"], json!(["read", "instances"]));
}

async fn sessions_are_listed_and_ended(db: &Db) {
    let site = Site::new(db).await;
    let old = wei(&site).await;
    let here = signed_in(&site, &old).await;
    let body = json!({ "user": "wei", "password": old, "cookie": true });
    let browser = request("POST", "/v1/login", None, Some(&body), &[("user-agent", "Browser/1")]);
    site.send(browser).await.ok(201);
    let list = site.get(&here, "/v1/sessions").await.ok(200)["items"].clone();
    assert_eq!(list.as_array().unwrap().len(), 2);
    let (cookie, own) = (&list[0], &list[1]);
    assert_eq!(
        (&cookie["kind"], &cookie["agent"], &cookie["current"]),
        (&json!("cookie"), &json!("Browser/1"), &json!(false))
    );
    assert_eq!((&own["kind"], &own["current"]), (&json!("login"), &json!(true)));
    let path = format!("/v1/sessions/{}", cookie["id"].as_str().unwrap());
    // Not another's, and not twice.
    site.send(request("DELETE", &path, Some(&site.bob), None, &[])).await.problem(404, "not-found");
    assert_eq!(site.send(request("DELETE", &path, Some(&here), None, &[])).await.status, 204);
    site.send(request("DELETE", &path, Some(&here), None, &[])).await.problem(404, "not-found");
    let token = json!({ "name": "ci", "scopes": ["read"] });
    let program = site.post(&here, "/v1/tokens", token).await.ok(201)["token"].as_str().unwrap().to_owned();
    let program = Person { id: here.id.clone(), token: program };
    assert_eq!(site.post(&here, "/v1/logout-everywhere", json!({})).await.status, 204);
    site.get(&here, "/v1/whoami").await.problem(401, "unauthenticated");
    site.get(&program, "/v1/whoami").await.ok(200);
    let here = signed_in(&site, &old).await;
    assert_eq!(site.post(&here, "/v1/logout-everywhere", json!({ "tokens": true })).await.status, 204);
    site.get(&program, "/v1/whoami").await.problem(401, "unauthenticated");
}

/// The answer comes before the mail is written, so that it takes the same time for
/// every address: the mail is waited for here.
async fn mail(site: &Site, mailbox: &Mailbox) -> String {
    for _ in 0..400 {
        if let Some(mail) = mailbox.take(&site.app).await.pop() {
            assert_eq!(mail.to, "wei@example.org");
            return mail.secret("/reset");
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("no mail came");
}

async fn a_forgotten_password_is_reset_by_mail(db: &Db) {
    let (site, mailbox) = site_with_mail(db).await;
    let old = wei(&site).await;
    let here = signed_in(&site, &old).await;
    let forgot = async |email: &str| {
        let answer = stranger(&site, "/v1/password/forgot", json!({ "email": email })).await;
        (answer.status, answer.text().to_owned())
    };
    let first = forgot(" Wei@example.org").await;
    let secret = mail(&site, &mailbox).await;
    for email in ["nobody@example.org", "no address", ""] {
        assert_eq!(forgot(email).await, first);
    }
    forgot("wei@example.org").await;
    let second = mail(&site, &mailbox).await;
    let reset = async |token: &str, password: &str| {
        stranger(&site, "/v1/password/reset", json!({ "token": token, "password": password })).await
    };
    reset("suanli_0", NEW).await.says(404, "not-found", &["not good"]);
    // A weak one is refused without using the link up; a later mail has not spoilt it.
    reset(&secret, "1234567890").await.problem(422, "weak-password");
    assert_eq!(reset(&secret, NEW).await.status, 204);
    for used in [&secret, &second] {
        reset(used, "another good one").await.problem(404, "not-found");
    }
    site.get(&here, "/v1/whoami").await.problem(401, "unauthenticated");
    login(&site, "wei", &old).await.problem(401, "unauthenticated");
    login(&site, "wei", NEW).await.ok(201);
}

async fn an_old_link_is_not_good(db: &Db) {
    let (site, mailbox) = site_with_mail(db).await;
    wei(&site).await;
    stranger(&site, "/v1/password/forgot", json!({ "email": "wei@example.org" })).await.ok(202);
    let secret = mail(&site, &mailbox).await;
    let mut db = site.app.store.read().await.unwrap();
    let now = site.app.now().micros();
    sqlx::query("UPDATE mail_links SET expires_at = $1").bind(now).execute(&mut *db).await.unwrap();
    drop(db);
    let late = json!({ "token": secret, "password": NEW });
    stranger(&site, "/v1/password/reset", late).await.problem(404, "not-found");
    // And a verification link does not set a password.
    let verify = json!({ "token": secret });
    stranger(&site, "/v1/email/verify", verify).await.problem(404, "not-found");
}

async fn a_user_without_a_password_is_a_stranger_like_any(db: &Db) {
    let site = Site::new(db).await;
    login(&site, "alice", "no password").await.problem(401, "unauthenticated");
}

both!(
    another_password_ends_the_other_sessions,
    a_program_does_not_change_who_somebody_is,
    sessions_are_listed_and_ended,
    a_forgotten_password_is_reset_by_mail,
    an_old_link_is_not_good,
    a_user_without_a_password_is_a_stranger_like_any,
);
