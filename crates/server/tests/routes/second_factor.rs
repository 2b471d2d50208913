//! The second factor, from its secret to its end.

use std::time::Duration;

use base::Timestamp;
use serde_json::json;
use totp_rs::{Algorithm, Secret, TOTP};

use crate::answer::Answer;
use crate::db::{Db, both};
use crate::mailbox::stranger;
use crate::site::{Person, Site, request};

/// A user who has signed in with a one-time password.
struct Wei {
    person: Person,
    password: String,
}

async fn wei(site: &Site) -> Wei {
    let made = site.post(&site.operator, "/v1/accounts", json!({ "name": "wei" })).await.ok(201);
    let password = made["password"].as_str().unwrap().to_owned();
    let done = stranger(site, "/v1/login", json!({ "user": "wei", "password": password })).await.ok(201);
    let id = done["user"]["id"].as_str().unwrap().parse().unwrap();
    Wei { person: Person { id, token: done["token"].as_str().unwrap().to_owned() }, password }
}

impl Wei {
    async fn login(&self, site: &Site, code: Option<&str>) -> Answer {
        let mut body = json!({ "user": "wei", "password": self.password });
        if let Some(code) = code {
            body["code"] = code.into();
        }
        stranger(site, "/v1/login", body).await
    }

    /// Makes the second factor count; its secret and the recovery codes.
    async fn enable(&self, site: &Site) -> (String, Vec<String>) {
        let secret = prepare(site, &self.person).await.ok(200)["secret"].as_str().unwrap().to_owned();
        let done = confirm(site, &self.person, &code(&secret, site.app.now(), 0)).await.ok(200);
        let codes = done["recovery_codes"].as_array().unwrap().iter();
        (secret, codes.map(|c| c.as_str().unwrap().to_owned()).collect())
    }
}

async fn prepare(site: &Site, by: &Person) -> Answer {
    site.send(request("POST", "/v1/totp", Some(by), None, &[])).await
}

async fn confirm(site: &Site, by: &Person, code: &str) -> Answer {
    site.post(by, "/v1/totp/confirm", json!({ "code": code })).await
}

/// What an app with this secret shows, `steps` from now.
fn code(secret: &str, now: Timestamp, steps: i64) -> String {
    let key = Secret::Encoded(secret.to_owned()).to_bytes().unwrap();
    let at = u64::try_from(now.micros() / 1_000_000 + 30 * steps).unwrap();
    TOTP::new(Algorithm::SHA1, 6, 0, 30, key).unwrap().generate(at)
}

/// A code that is none of those that are good now.
fn wrong(secret: &str, now: Timestamp) -> String {
    let good: Vec<_> = (-3..=3).map(|steps| code(secret, now, steps)).collect();
    (0..).map(|n| format!("{n:06}")).find(|code| !good.contains(code)).unwrap()
}

/// Lets codes be used that were used: the test cannot wait for the next ones.
async fn as_if_later(site: &Site) {
    let mut db = site.app.store.read().await.unwrap();
    sqlx::query("UPDATE users SET totp_step = 0").execute(&mut *db).await.unwrap();
}

async fn it_is_asked_for_once_it_was_confirmed(db: &Db) {
    let site = Site::new(db).await;
    let wei = wei(&site).await;
    let prepared = prepare(&site, &wei.person).await.ok(200);
    let secret = prepared["secret"].as_str().unwrap();
    assert!(prepared["uri"].as_str().unwrap().starts_with(&format!("otpauth://totp/Suanli:wei?secret={secret}&")));
    // It does not count yet.
    wei.login(&site, None).await.ok(201);
    confirm(&site, &wei.person, &wrong(secret, site.app.now())).await.says(403, "forbidden", &["code is wrong"]);
    let now = code(secret, site.app.now(), 0);
    assert_eq!(confirm(&site, &wei.person, &now).await.ok(200)["recovery_codes"].as_array().unwrap().len(), 10);
    assert_eq!(site.get(&wei.person, "/v1/whoami").await.ok(200)["user"]["totp"], true);
    wei.login(&site, None).await.says(401, "second-factor-needed", &["authenticator app"]);
    wei.login(&site, Some(" ")).await.problem(401, "second-factor-needed");
    wei.login(&site, Some(&wrong(secret, site.app.now()))).await.problem(401, "second-factor-wrong");
    // The code that confirmed it is used up.
    wei.login(&site, Some(&now)).await.problem(401, "second-factor-wrong");
    // Who does not know the password does not hear of it.
    let body = json!({ "user": "wei", "password": "wrong", "code": now });
    stranger(&site, "/v1/login", body).await.problem(401, "unauthenticated");
    let next = code(secret, site.app.now(), 1);
    let spaced = format!("{} {}", &next[..3], &next[3..]);
    wei.login(&site, Some(&spaced)).await.ok(201);
    wei.login(&site, Some(&next)).await.problem(401, "second-factor-wrong");
    for prepared_again in [prepare(&site, &wei.person).await, confirm(&site, &wei.person, &next).await] {
        prepared_again.problem(409, "wrong-state");
    }
}

async fn two_at_once_cannot_use_one_code(db: &Db) {
    let site = Site::new(db).await;
    let wei = wei(&site).await;
    let (secret, recovery) = wei.enable(&site).await;
    for code in [code(&secret, site.app.now(), 1), recovery[0].clone()] {
        let tries = (0..4).map(|_| wei.login(&site, Some(&code)));
        let answers = futures_util::future::join_all(tries).await;
        assert_eq!(answers.iter().filter(|a| a.status == 201).count(), 1);
        assert_eq!(answers.iter().filter(|a| a.status == 401).count(), 3);
    }
}

async fn each_recovery_code_is_good_once(db: &Db) {
    let site = Site::new(db).await;
    let wei = wei(&site).await;
    let (_, recovery) = wei.enable(&site).await;
    for code in &recovery {
        let typed = code.to_uppercase().replace('-', " ");
        wei.login(&site, Some(&typed)).await.ok(201);
        wei.login(&site, Some(code)).await.problem(401, "second-factor-wrong");
    }
    assert_eq!(site.number("SELECT COUNT(*) FROM recovery_codes WHERE used_at IS NULL").await, 0);
}

async fn it_is_removed_with_password_and_code_or_by_an_operator(db: &Db) {
    let site = Site::new(db).await;
    let wei = wei(&site).await;
    let remove = async |password: &str, code: &str| {
        site.post(&wei.person, "/v1/totp/remove", json!({ "password": password, "code": code })).await
    };
    remove(&wei.password, "000000").await.problem(409, "wrong-state");
    let (secret, recovery) = wei.enable(&site).await;
    remove("wrong", &recovery[0]).await.says(403, "forbidden", &["password or the code"]);
    remove(&wei.password, &wrong(&secret, site.app.now())).await.says(403, "forbidden", &["password or the code"]);
    assert_eq!(remove(&wei.password, &recovery[0]).await.status, 204);
    wei.login(&site, None).await.ok(201);
    assert_eq!(site.number("SELECT COUNT(*) FROM recovery_codes").await, 0);
    as_if_later(&site).await;
    let (again, _) = wei.enable(&site).await;
    assert_ne!(again, secret);
    let by_operator = request("POST", "/v1/users/wei/totp/remove", Some(&site.operator), None, &[]);
    assert!(site.send(by_operator).await.status < 300);
    wei.login(&site, None).await.ok(201);
}

/// Guesses from many addresses end, and the user himself still gets in.
async fn guesses_end_and_recovery_codes_do_not(db: &Db) {
    let mut site = Site::new(db).await;
    let day = server::limits::Rate { every: Duration::from_secs(86_400), burst: 3 };
    let limits = server::limits::Limits { codes: day, logins: server::limits::Rate::NONE, ..Default::default() };
    site.app = site.app.clone().with_limits(limits);
    site.router = server::router(site.app.clone());
    let wei = wei(&site).await;
    let (secret, recovery) = wei.enable(&site).await;
    let wrong = wrong(&secret, site.app.now());
    for _ in 0..3 {
        wei.login(&site, Some(&wrong)).await.problem(401, "second-factor-wrong");
    }
    let right = code(&secret, site.app.now(), 1);
    wei.login(&site, Some(&right)).await.says(429, "rate-limited", &["recovery code still works"]);
    wei.login(&site, Some(&recovery[3])).await.ok(201);
    wei.login(&site, Some(&right)).await.ok(201);
}

async fn neither_the_database_nor_the_log_knows_the_secret(db: &Db) {
    let store = db.store.clone().with_keys(keys()).await.unwrap();
    let site = Site::new(db).await;
    let wei = wei(&site).await;
    let (secret, recovery) = wei.enable(&site).await;
    let mut db = store.read().await.unwrap();
    let sealed: String =
        sqlx::query_scalar("SELECT totp_secret FROM users WHERE name = 'wei'").fetch_one(&mut *db).await.unwrap();
    assert!(sealed.starts_with("enc:") && !sealed.contains(&secret));
    let log: Vec<Option<String>> =
        sqlx::query_scalar("SELECT COALESCE(was, '') || COALESCE(became, '') FROM audit_log")
            .fetch_all(&mut *db)
            .await
            .unwrap();
    let log: String = log.into_iter().flatten().collect();
    assert!(log.contains("totp"), "{log}");
    assert!(!log.contains(&secret) && recovery.iter().all(|code| !log.contains(code)));
    let codes: Vec<String> = sqlx::query_scalar("SELECT hash FROM recovery_codes").fetch_all(&mut *db).await.unwrap();
    assert!(codes.len() == 10 && codes.iter().all(|hash| hash.len() == 64));
}

fn keys() -> store::secrets::Keyring {
    store::secrets::Keyring::parse(&store::secrets::Keyring::generate().unwrap()).unwrap()
}

both!(
    it_is_asked_for_once_it_was_confirmed,
    two_at_once_cannot_use_one_code,
    each_recovery_code_is_good_once,
    it_is_removed_with_password_and_code_or_by_an_operator,
    guesses_end_and_recovery_codes_do_not,
    neither_the_database_nor_the_log_knows_the_secret,
);
