//! Every operation that changes something leaves exactly one entry in the audit log,
//! done or refused, and no secret is ever in it.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use axum::http::Request;
use base::{Span, TokenId};
use domain::instance::State;
use domain::rights::{Role, Scope};
use serde_json::{Value, json};
use server::auth::{new_token, token_hash};
use store::tokens::{self, ApiToken, Limits};
use totp_rs::{Algorithm, Secret, TOTP};

use crate::answer::Answer;
use crate::db::{Db, both, write};
use crate::mailbox::site_with_mail;
use crate::members::member;
use crate::openapi::operations;
use crate::site::{CARD, Person, Site, person, request};

/// Operations that are no GET and change nothing all the same.
const ONLY_LOOKS: &[&str] = &["quote", "lint_prices"];

/// GETs whose asking is a deed: they carry much away.
const CARRIES_AWAY: &[&str] = &["backup", "export_audit_log"];

/// A sign-in at a provider is written down as `login` or `sign_up`; its own tests see to that.
const ELSEWHERE: &[&str] = &["oidc_callback", "oidc_start"];

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILxWpDLVzHSQbv5TOSV/hXD+MRB3NFoKRDnJTeR8ngiK me@laptop";

/// What was done so far, and what must not be found.
struct Deeds<'a> {
    site: &'a Site,
    done: BTreeSet<String>,
    secrets: Vec<String>,
}

impl Deeds<'_> {
    async fn entries(&self) -> i64 {
        self.site.number("SELECT COUNT(*) FROM audit_log").await
    }

    async fn of(&self, action: &str) -> i64 {
        let mut db = self.site.app.store.read().await.unwrap();
        sqlx::query_scalar("SELECT COUNT(*) FROM audit_log WHERE action = $1 AND result = 'done' AND code IS NULL")
            .bind(action.to_owned())
            .fetch_one(&mut *db)
            .await
            .unwrap()
    }

    /// An operation is tested once.
    fn first(&mut self, operation: &str) {
        assert!(self.done.insert(operation.to_owned()), "{operation} twice");
    }

    async fn ask(&mut self, operation: &str, method: &str, path: &str, by: Option<&Person>, body: Value) -> Value {
        let before = (self.entries().await, self.of(operation).await);
        let body = Some(&body).filter(|body| !body.is_null());
        let answer = self.site.send(request(method, path, by, body, &[])).await;
        assert!(answer.status < 300, "{operation}: {}", answer.text());
        for _ in 0..200 {
            if self.of(operation).await > before.1 {
                break;
            }
            // Mail is prepared behind the answer, so that its time tells nothing.
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        let after = (self.entries().await, self.of(operation).await);
        assert_eq!(after, (before.0 + 1, before.1 + 1), "{operation}");
        serde_json::from_slice(&answer.bytes).unwrap_or_default()
    }

    /// As [`Self::ask`], where it counts as the test of the operation.
    async fn deed(&mut self, operation: &str, method: &str, path: &str, by: &Person, body: Value) -> Value {
        self.first(operation);
        self.ask(operation, method, path, Some(by), body).await
    }

    async fn strangers_deed(&mut self, operation: &str, path: &str, body: Value) -> Value {
        self.first(operation);
        self.ask(operation, "POST", path, None, body).await
    }

    fn secret(&mut self, value: &Value) -> String {
        let text = value.as_str().unwrap().to_owned();
        assert!(text.len() >= 6, "{text}");
        self.secrets.push(text.clone());
        text
    }

    async fn login(&mut self, name: &str, password: &str) -> Person {
        let done = self.ask("login", "POST", "/v1/login", None, json!({ "user": name, "password": password })).await;
        let token = self.secret(&done["token"]);
        Person { id: done["user"]["id"].as_str().unwrap().parse().unwrap(), token }
    }

    async fn run(&self, sql: &'static str) {
        let mut db = self.site.app.store.read().await.unwrap();
        sqlx::query(sql).execute(&mut *db).await.unwrap();
    }
}

fn code(secret: &str, site: &Site) -> String {
    let key = Secret::Encoded(secret.to_owned()).to_bytes().unwrap();
    let at = u64::try_from(site.app.now().micros() / 1_000_000).unwrap();
    TOTP::new(Algorithm::SHA1, 6, 0, 30, key).unwrap().generate(at)
}

fn changing(site: &Site) -> BTreeSet<String> {
    let changes = |(_, method, operation): (&str, &str, &Value)| {
        let name = operation["operationId"].as_str().unwrap().to_owned();
        let changes = method != "get" && !ONLY_LOOKS.contains(&name.as_str());
        let counts = changes || CARRIES_AWAY.contains(&name.as_str());
        (counts && !ELSEWHERE.contains(&name.as_str())).then_some(name)
    };
    operations(site.document()).filter_map(changes).collect()
}

async fn rentals(d: &mut Deeds<'_>) {
    let (alice, site) = (&d.site.alice, d.site);
    let env = json!({ "gpu": CARD, "env": { "TOKEN": "planted-env" }, "on_start": "echo planted-command" });
    d.secrets.extend(["planted-env".to_owned(), "planted-command".to_owned()]);
    let id = d.deed("rent", "POST", "/v1/instances", alice, env).await["id"].as_str().unwrap().to_owned();
    let path = |what: &str| format!("/v1/instances/{id}/{what}");
    d.deed("set_rules", "PUT", &path("rules"), alice, json!({ "after": "8h" })).await;
    d.deed("stop", "POST", &path("stop"), alice, json!({})).await;
    site.state(&id.parse().unwrap(), State::Stopped, "stopped").await;
    d.run("DELETE FROM holds").await;
    d.run("UPDATE accounts SET held = 0").await;
    d.deed("start", "POST", &path("start"), alice, json!({})).await;
    d.deed("release", "POST", &path("release"), alice, json!({})).await;
}

async fn own_things(d: &mut Deeds<'_>) {
    let alice = &d.site.alice;
    let made = d.deed("create_token", "POST", "/v1/tokens", alice, json!({ "name": "ci", "scopes": ["read"] })).await;
    d.secret(&made["token"]);
    let path = format!("/v1/tokens/{}", made["id"].as_str().unwrap());
    d.deed("delete_token", "DELETE", &path, alice, Value::Null).await;
    let added = d.deed("add_key", "POST", "/v1/keys", alice, json!({ "key": KEY })).await;
    d.secrets.push(KEY.split(' ').nth(1).unwrap().to_owned());
    let path = format!("/v1/keys/{}", added["id"].as_str().unwrap());
    d.deed("delete_key", "DELETE", &path, alice, Value::Null).await;
    d.deed("check_identity", "POST", "/v1/identity", alice, json!({ "number": "planted-passport" })).await;
    d.secrets.push("planted-passport".into());
}

async fn accounts(d: &mut Deeds<'_>) {
    let (site, alice, operator) = (d.site, &d.site.alice, &d.site.operator);
    member(site, "mia", &site.alpha, Role::Viewer).await;
    let of = "/v1/accounts/alpha";
    d.deed("set_member_role", "PUT", &format!("{of}/members/mia"), alice, json!({ "role": "member" })).await;
    d.deed("remove_member", "DELETE", &format!("{of}/members/mia"), alice, Value::Null).await;
    let role = json!({ "role": "viewer" });
    let made = d.deed("invite_member", "POST", &format!("{of}/invitations"), alice, role.clone()).await;
    let secret = d.secret(&made["secret"]);
    d.deed("accept_invitation", "POST", "/v1/invitations/accept", &site.bob, json!({ "secret": secret })).await;
    let made = d.deed("invite_user", "POST", "/v1/invitations", operator, json!({ "credit": "1" })).await;
    d.secret(&made["secret"]);
    let path = format!("/v1/invitations/{}", made["id"].as_str().unwrap());
    d.deed("revoke_invitation", "DELETE", &path, operator, Value::Null).await;
    d.deed("set_quotas", "PUT", &format!("{of}/quotas"), operator, json!({ "instances": 9 })).await;
    let path = format!("{of}/projects/vision/quotas");
    d.deed("set_project_quotas", "PUT", &path, alice, json!({ "instances": 9 })).await;
    d.deed("top_up", "POST", &format!("{of}/topups"), operator, json!({ "amount": "5" })).await;
}

async fn the_site(d: &mut Deeds<'_>) {
    let (site, operator) = (d.site, &d.site.operator);
    d.deed("load_prices", "PUT", "/v1/prices", operator, json!({ "text": billing::book::DEMO })).await;
    let now = site.app.now();
    write!(site.app.store, |tx| store::incidents::open(tx, now, "disk-full", "nod-x", "make room", "full").await)
        .unwrap();
    let open = site.get(operator, "/v1/incidents").await.ok(200)["incidents"][0]["id"].as_str().unwrap().to_owned();
    d.deed("close_incident", "POST", &format!("/v1/incidents/{open}/close"), operator, json!({})).await;
    d.deed("set_site_settings", "PUT", "/v1/site/settings", operator, json!({ "name": "Lab" })).await;
    d.deed("set_audit_log_retention", "PUT", "/v1/audit-log/retention", operator, json!({ "days": 400 })).await;
    d.deed("backup", "GET", "/v1/backup", operator, Value::Null).await;
    d.deed("export_audit_log", "GET", "/v1/audit-log/export", operator, Value::Null).await;
    let begun = store::recovery::Recovery { since: now, made_at: base::Timestamp::EPOCH, proven: Default::default() };
    let (text, node) = (serde_json::to_string(&begun).unwrap(), site.node.clone());
    write!(site.app.store, |tx, text, node| {
        store::site::set(tx, store::recovery::KEY, &text).await?;
        store::recovery::note(tx, &node, vec![]).await
    })
    .unwrap();
    let seen = site.get(operator, "/v1/recovery").await.ok(200)["digest"].clone();
    d.deed("accept_recovery", "POST", "/v1/recovery/accept", operator, json!({ "seen": seen })).await;
}

async fn a_users_life(d: &mut Deeds<'_>, mailbox: &crate::mailbox::Mailbox) {
    let (site, operator) = (d.site, &d.site.operator);
    let made = d.deed("create_account", "POST", "/v1/accounts", operator, json!({ "name": "wei" })).await;
    let one_time = d.secret(&made["password"]);
    let done = d.strangers_deed("login", "/v1/login", json!({ "user": "wei", "password": one_time })).await;
    let wei = Person { id: done["user"]["id"].as_str().unwrap().parse().unwrap(), token: d.secret(&done["token"]) };
    let new = "planted password one";
    d.secrets.push(new.into());
    d.deed("change_password", "POST", "/v1/password", &wei, json!({ "old": one_time, "new": new })).await;
    let prepared = d.deed("prepare_totp", "POST", "/v1/totp", &wei, Value::Null).await;
    let secret = d.secret(&prepared["secret"]);
    let first = json!({ "code": code(&secret, site) });
    let codes = d.deed("confirm_totp", "POST", "/v1/totp/confirm", &wei, first).await;
    for code in codes["recovery_codes"].as_array().unwrap() {
        d.secret(code);
    }
    let recovery = codes["recovery_codes"][0].clone();
    d.deed("remove_totp", "POST", "/v1/totp/remove", &wei, json!({ "password": new, "code": recovery })).await;
    // A second factor that he has lost.
    let prepared = d.ask("prepare_totp", "POST", "/v1/totp", Some(&wei), Value::Null).await;
    let secret = d.secret(&prepared["secret"]);
    d.run("UPDATE users SET totp_step = 0").await;
    let again = json!({ "code": code(&secret, site) });
    d.ask("confirm_totp", "POST", "/v1/totp/confirm", Some(&wei), again).await;
    d.deed("remove_second_factor", "POST", "/v1/users/wei/totp/remove", operator, Value::Null).await;
    let there = d.login("wei", new).await;
    let sessions = site.get(&there, "/v1/sessions").await.ok(200);
    let other = sessions["items"].as_array().unwrap().iter().find(|s| s["current"] == false).unwrap()["id"].clone();
    d.deed("end_session", "DELETE", &format!("/v1/sessions/{}", other.as_str().unwrap()), &there, Value::Null).await;
    d.deed("logout_everywhere", "POST", "/v1/logout-everywhere", &there, json!({})).await;
    let again = d.login("wei", new).await;
    d.deed("logout", "POST", "/v1/logout", &again, Value::Null).await;
    d.run("UPDATE users SET email = 'wei@example.org', email_verified_at = 1 WHERE name = 'wei'").await;
    d.strangers_deed("forgot_password", "/v1/password/forgot", json!({ "email": "wei@example.org" })).await;
    let link = mailbox.take(&site.app).await.pop().unwrap().secret("/reset");
    d.secrets.push(link.clone());
    let newer = "planted password two";
    d.secrets.push(newer.into());
    d.strangers_deed("reset_password", "/v1/password/reset", json!({ "token": link, "password": newer })).await;
    d.deed("disable_user", "POST", "/v1/users/wei/disable", operator, Value::Null).await;
    d.deed("enable_user", "POST", "/v1/users/wei/enable", operator, Value::Null).await;
    let given = d.deed("give_password", "POST", "/v1/users/wei/password", operator, Value::Null).await;
    d.secret(&given["password"]);
    let role = json!({ "operator_role": "auditor" });
    d.deed("set_operator_role", "PUT", "/v1/users/wei/role", operator, role).await;
}

async fn newcomers(d: &mut Deeds<'_>, mailbox: &crate::mailbox::Mailbox) {
    let (site, operator) = (d.site, &d.site.operator);
    d.ask(
        "set_site_settings",
        "PUT",
        "/v1/site/settings",
        Some(operator),
        json!({ "sign_up": "email", "approval": true }),
    )
    .await;
    let password = "planted password three";
    d.secrets.push(password.into());
    let body = json!({ "name": "nora", "email": "nora@example.org", "password": password });
    d.strangers_deed("sign_up", "/v1/signup", body).await;
    let link = mailbox.take(&site.app).await.pop().unwrap().secret("/verify");
    d.secrets.push(link.clone());
    d.strangers_deed("verify_email", "/v1/email/verify", json!({ "token": link })).await;
    d.deed("approve_user", "POST", "/v1/users/nora/approve", operator, Value::Null).await;
    let nora = d.login("nora", password).await;
    d.run("UPDATE users SET email_verified_at = NULL WHERE name = 'nora'").await;
    d.run("DELETE FROM mail_links").await;
    d.ask("forgot_password", "POST", "/v1/password/forgot", None, json!({ "email": "wei@example.org" })).await;
    pending(site, &nora).await;
    d.deed("resend_email", "POST", "/v1/email/resend", &nora, Value::Null).await;
    if let Some(mail) = mailbox.take(&site.app).await.pop() {
        d.secrets.push(mail.secret("/verify"));
    }
}

/// A link to check the address that was sent some time ago.
async fn pending(site: &Site, who: &Person) {
    let mut db = site.app.store.read().await.unwrap();
    sqlx::query(
        "INSERT INTO mail_links (hash, user_id, purpose, email, created_at, expires_at)
         VALUES ('hash', $1, 'verify', 'nora@example.org', 0, $2)",
    )
    .bind(who.id.as_str())
    .bind(site.app.now().after(Span::from_hours(1)).micros())
    .execute(&mut *db)
    .await
    .unwrap();
}

async fn every_deed_is_written_down_once_and_without_secrets(db: &Db) {
    let (mut site, mailbox) = site_with_mail(db).await;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("check");
    std::fs::write(&program, "#!/bin/sh\ncat > /dev/null\necho '{\"state\":\"verified\"}'\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    site.app = site.app.clone().with_identity_command(Some(program));
    site.router = server::router(site.app.clone());
    let mut d = Deeds { site: &site, done: BTreeSet::new(), secrets: Vec::new() };
    d.secrets.extend([&site.alice, &site.bob, &site.operator].map(|p| p.token.clone()));
    rentals(&mut d).await;
    own_things(&mut d).await;
    accounts(&mut d).await;
    a_users_life(&mut d, &mailbox).await;
    newcomers(&mut d, &mailbox).await;
    the_site(&mut d).await;
    let missing: Vec<_> = changing(&site).difference(&d.done).cloned().collect();
    assert_eq!(missing, [""; 0], "operations whose trail nobody looks at");
    // What was refused, with secrets in it.
    let secrets = ["planted refusal one", "planted refusal two"];
    for body in [
        json!({ "user": "alice", "password": secrets[0] }),
        json!({ "user": secrets[1], "password": secrets[0], "code": "1" }),
    ] {
        site.send(request("POST", "/v1/login", None, Some(&body), &[])).await;
    }
    site.post(&site.alice, "/v1/password", json!({ "old": secrets[0], "new": "x" })).await;
    site.post(&site.alice, "/v1/keys", json!({ "key": format!("PRIVATE KEY {}", secrets[0]) })).await;
    d.secrets.push(secrets[0].into());
    let log = everything(&site).await;
    assert!(log.contains("rent") && log.contains("give_password") && log.contains("refused"));
    assert!(d.secrets.len() > 25, "{}", d.secrets.len());
    for secret in &d.secrets {
        assert!(!log.contains(secret.as_str()), "`{secret}` is in the audit log");
        // Nor in the form in which it is kept.
        assert!(!log.contains(&token_hash(secret)), "the hash of `{secret}` is in the audit log");
    }
}

/// The whole log as one text.
async fn everything(site: &Site) -> String {
    crate::audit_log::chain(site).await;
    let export = site.send(request("GET", "/v1/audit-log/export", Some(&site.operator), None, &[])).await;
    assert_eq!(export.status, 200);
    export.text().to_owned()
}

/// A token of Alice's with limits.
async fn limited(site: &Site, limits: Limits) -> Person {
    let (secret, now, user) = (new_token(), site.app.now(), site.alice.id.clone());
    let hash = token_hash(&secret);
    write!(site.app.store, |tx, user, limits, hash| {
        let id = TokenId::new(now, tx.random());
        let ends = now.after(Span::from_hours(1));
        let token = ApiToken { id, name: "x".into(), limits, created_at: now, expires_at: ends, used_at: None };
        tokens::insert_api(tx, &user, &token, &hash).await
    })
    .unwrap();
    Person { id: site.alice.id.clone(), token: secret }
}

async fn refused(site: &Site, name: &str, request: Request<axum::body::Body>, kind: &str) -> Answer {
    let before = site.number("SELECT COUNT(*) FROM audit_log").await;
    let answer = site.send(request).await;
    assert!(answer.status >= 400, "{name}: {}", answer.status);
    assert_eq!(site.number("SELECT COUNT(*) FROM audit_log").await, before + 1, "{name}");
    let mut db = site.app.store.read().await.unwrap();
    let found: (String, String, String, String) =
        sqlx::query_as("SELECT action, actor_kind, result, code FROM audit_log ORDER BY id DESC LIMIT 1")
            .fetch_one(&mut *db)
            .await
            .unwrap();
    let problem: Value = serde_json::from_slice(&answer.bytes).unwrap();
    let code = problem["code"].as_str().unwrap().to_owned();
    assert_eq!(found, (name.to_owned(), kind.to_owned(), "refused".to_owned(), code), "{name}");
    answer
}

async fn every_refusal_is_written_down_once_with_its_cause(db: &Db) {
    let site = Site::new(db).await;
    let own = site.rented("own").await;
    let inside = limited(
        &site,
        Limits { scopes: vec![Scope::Read, Scope::Instances], account: Some(site.alpha.clone()), instance: Some(own) },
    )
    .await;
    let nobody = person(&site.app, "nobody", false).await;
    let mut asked = 0;
    for (path, method, operation) in operations(site.document()) {
        let name = operation["operationId"].as_str().unwrap();
        let public = operation["security"].as_array().is_some_and(|s| s.iter().any(|one| *one == json!({})));
        if method == "get" || public || ELSEWHERE.contains(&name) {
            continue;
        }
        let path = path.replace("{id}", "nothing").replace("{user}", "nothing").replace("{project}", "nothing");
        let body = operation["requestBody"].is_object().then(|| json!({ "odd": 1 }));
        let ask = |by: &Person| request(&method.to_uppercase(), &path, Some(by), body.as_ref(), &[]);
        refused(&site, name, ask(&inside), "instance").await;
        // Those without a body cannot be refused to whoever is signed in.
        if !["logout", "prepare_totp"].contains(&name) {
            refused(&site, name, ask(&nobody), "user").await;
        }
        asked += 1;
    }
    assert!(asked > 35, "{asked}");
}

both!(every_deed_is_written_down_once_and_without_secrets, every_refusal_is_written_down_once_with_its_cause);
