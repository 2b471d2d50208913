//! Signing in and out, and what the database keeps of it.

use serde_json::json;

use crate::answer::Answer;
use crate::db::{Db, both};
use crate::site::{Person, Site, request};

async fn login(site: &Site, user: &str, password: &str) -> Answer {
    let body = json!({ "user": user, "password": password });
    site.send(request("POST", "/v1/login", None, Some(&body), &[])).await
}

/// A user with a password, made the way the operator makes one.
async fn wei(site: &Site) -> String {
    let made = site.post(&site.operator, "/v1/accounts", json!({ "name": "wei" })).await.ok(201);
    made["password"].as_str().unwrap().to_owned()
}

async fn a_wrong_name_and_a_wrong_password_look_the_same(db: &Db) {
    let site = Site::new(db).await;
    let password = wei(&site).await;
    let mut answers = Vec::new();
    for (user, password) in
        [("wei", "wrong"), ("nobody", "wrong"), ("nobody", &password), ("wei", ""), ("", ""), ("WEI", &password)]
    {
        let mut problem = login(&site, user, password).await.problem(401, "unauthenticated");
        problem["request_id"] = json!(null);
        answers.push(problem);
    }
    assert!(answers.iter().all(|a| *a == answers[0]), "{answers:?}");
    login(&site, "wei", &password).await.ok(201);
}

async fn a_token_works_until_it_is_taken_back(db: &Db) {
    let site = Site::new(db).await;
    let password = wei(&site).await;
    let sign_in = async || {
        let answer = login(&site, "wei", &password).await.ok(201);
        assert!(answer["expires_at"].as_str().unwrap() > site.app.now().to_string().as_str());
        Person { id: site.alice.id.clone(), token: answer["token"].as_str().unwrap().to_owned() }
    };
    let (here, there) = (sign_in().await, sign_in().await);
    assert_ne!(here.token, there.token);
    assert!(here.token.starts_with("suanli_") && here.token.len() == 7 + 64);
    assert_eq!(site.get(&here, "/v1/whoami").await.ok(200)["user"]["name"], "wei");
    let out = site.send(request("POST", "/v1/logout", Some(&here), None, &[])).await;
    assert_eq!((out.status, out.text()), (204, ""));
    site.get(&here, "/v1/whoami").await.problem(401, "unauthenticated");
    site.send(request("POST", "/v1/logout", Some(&here), None, &[])).await.problem(401, "unauthenticated");
    assert_eq!(site.get(&there, "/v1/whoami").await.ok(200)["user"]["name"], "wei");
}

/// Neither a password nor a token can be read out of the database.
async fn the_database_knows_no_secret(db: &Db) {
    let site = Site::new(db).await;
    let password = wei(&site).await;
    let token = login(&site, "wei", &password).await.ok(201)["token"].as_str().unwrap().to_owned();
    let mut conn = db.store.read().await.unwrap();
    let hash: String =
        sqlx::query_scalar("SELECT password_hash FROM users WHERE name = 'wei'").fetch_one(&mut *conn).await.unwrap();
    assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
    let stored: Vec<String> = sqlx::query_scalar("SELECT hash FROM tokens").fetch_all(&mut *conn).await.unwrap();
    assert!(stored.contains(&server::auth::token_hash(&token)));
    assert!(stored.iter().all(|h| h.len() == 64 && !token.contains(h.as_str())));
    drop(conn);
    let Some(path) = db.url.strip_prefix("sqlite://") else { return };
    let mut bytes = Vec::new();
    for suffix in ["", "-wal"] {
        bytes.extend(std::fs::read(format!("{path}{suffix}")).unwrap());
    }
    let holds = |text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(holds(&hash), "the search works");
    for secret in [password.as_str(), token.as_str(), &token[7..], site.alice.token.as_str()] {
        assert!(!holds(secret));
    }
}

async fn the_first_operator_is_made_once(db: &Db) {
    let site = Site::new(db).await;
    assert_eq!(server::first_run::operator(&site.app).await.unwrap(), None, "there is one");
    let mut conn = db.store.read().await.unwrap();
    sqlx::query("UPDATE users SET operator = 0, name = 'former' WHERE name = 'operator'")
        .execute(&mut *conn)
        .await
        .unwrap();
    drop(conn);
    let password = server::first_run::operator(&site.app).await.unwrap().unwrap();
    assert_eq!(server::first_run::operator(&site.app).await.unwrap(), None);
    let answer = login(&site, "operator", &password).await.ok(201);
    assert_eq!(answer["user"]["operator"], true);
}

both!(
    a_wrong_name_and_a_wrong_password_look_the_same,
    a_token_works_until_it_is_taken_back,
    the_database_knows_no_secret,
    the_first_operator_is_made_once,
);
