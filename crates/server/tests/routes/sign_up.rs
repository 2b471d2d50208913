//! Signing up: by invitation, by e-mail, with an operator's approval.

use std::time::Duration;

use base::{InvitationId, Money, Span};
use domain::rights::Role;
use serde_json::{Value, json};
use server::App;
use server::auth::token_hash;
use store::invitations::{self, Invitation};

use crate::answer::Answer;
use crate::db::{Db, both, write};
use crate::mailbox::{Mailbox, SITE, set, site_with_mail, stranger};
use crate::site::{Person, Site, request};

const PASSWORD: &str = "correct horse battery";

/// An invitation by Alice; its secret. What differs from one into `alpha` is `change`.
async fn invite(site: &Site, change: impl FnOnce(&mut Invitation)) -> String {
    let now = site.app.now();
    let secret = format!("inv_{:032x}", rand::random::<u128>());
    let mut invitation = Invitation {
        id: InvitationId::new(now, rand::random()),
        account: Some(site.alpha.clone()),
        into: None,
        role: Role::Member,
        email: None,
        account_name: None,
        credit: Money::ZERO,
        created_by: site.alice.id.clone(),
        by: "alice".into(),
        created_at: now,
        expires_at: now.after(Span::from_hours(1)),
        used_at: None,
        revoked_at: None,
    };
    change(&mut invitation);
    let hash = token_hash(&secret);
    write!(site.app.store, |tx, invitation, hash| invitations::insert(tx, &invitation, &hash).await).unwrap();
    secret
}

fn of_ones_own(credit: &'static str) -> impl FnOnce(&mut Invitation) {
    move |i| {
        i.account = None;
        i.role = Role::Owner;
        i.credit = credit.parse().unwrap();
    }
}

async fn sign_up(site: &Site, name: &str, more: Value) -> Answer {
    let mut body = json!({ "name": name, "password": PASSWORD });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    stranger(site, "/v1/signup", body).await
}

async fn login(site: &Site, user: &str) -> Answer {
    stranger(site, "/v1/login", json!({ "user": user, "password": PASSWORD })).await
}

async fn signed_in(site: &Site, user: &str) -> Person {
    let done = login(site, user).await.ok(201);
    Person {
        id: done["user"]["id"].as_str().unwrap().parse().unwrap(),
        token: done["token"].as_str().unwrap().to_owned(),
    }
}

async fn an_invitation_leads_into_its_account_once(db: &Db) {
    let site = Site::new(db).await;
    let secret = invite(&site, |_| ()).await;
    let preview = site.send(request("GET", &format!("/v1/invitations/{secret}/preview"), None, None, &[])).await;
    let preview = preview.ok(200);
    assert_eq!(
        (&preview["account"], &preview["role"], &preview["by"]),
        (&json!("alpha"), &json!("member"), &json!("alice"))
    );
    let done = sign_up(&site, "wei", json!({ "invitation": secret, "cookie": true })).await;
    let cookie = done.header("set-cookie").to_owned();
    let done = done.ok(201);
    assert_eq!((done["state"].as_str(), done["user"]["name"].as_str()), (Some("ready"), Some("wei")));
    // The cookie signs in, and its page may change something.
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let csrf = done["csrf"].as_str().unwrap().to_owned();
    let whoami = request("GET", "/v1/whoami", None, None, &[("cookie", &cookie)]);
    let whoami = site.send(whoami).await.ok(200);
    assert_eq!(whoami["csrf"], csrf.as_str());
    assert_eq!(
        whoami["accounts"],
        json!([{ "id": site.alpha, "name": "alpha", "role": "member", "currency": "CNY", "time_zone": "Asia/Shanghai" }])
    );
    let out = request("POST", "/v1/logout", None, None, &[("cookie", &cookie), ("x-csrf-token", &csrf)]);
    assert_eq!(site.send(out).await.status, 204);
    // Used up: nobody sees what it was for.
    sign_up(&site, "bo", json!({ "invitation": secret })).await.problem(404, "not-found");
    let preview = request("GET", &format!("/v1/invitations/{secret}/preview"), None, None, &[]);
    site.send(preview).await.problem(404, "not-found");
    assert_eq!(site.number("SELECT COUNT(*) FROM users WHERE name = 'bo'").await, 0);
    assert_eq!(site.number("SELECT COUNT(*) FROM audit_log WHERE action = 'sign_up' AND result = 'done'").await, 1);
}

async fn an_invitation_of_ones_own_brings_an_account_and_credit(db: &Db) {
    let site = Site::new(db).await;
    let secret = invite(&site, of_ones_own("25")).await;
    // A name of a user may be taken as the name of an account.
    let made = site.post(&site.operator, "/v1/accounts", json!({ "name": "wei", "user": "other" })).await;
    made.ok(201);
    sign_up(&site, "wei", json!({ "invitation": secret, "language": "zh-CN" })).await.ok(201);
    let wei = signed_in(&site, "wei").await;
    let accounts = site.get(&wei, "/v1/whoami").await.ok(200)["accounts"].clone();
    assert_eq!((&accounts[0]["name"], &accounts[0]["role"]), (&json!("wei-2"), &json!("owner")));
    assert_eq!(site.get(&wei, "/v1/balance").await.ok(200)["available"]["amount"], "25.00");
    assert_eq!(site.number("SELECT COUNT(*) FROM postings WHERE cause LIKE 'invitation:inv-%'").await, 1);
    assert_eq!(
        site.number("SELECT COUNT(*) FROM accounts WHERE time_zone = 'Asia/Shanghai' AND name = 'wei-2'").await,
        1
    );
    assert_eq!(site.get(&site.operator, "/v1/audit").await.ok(200)["differences"], json!([]));
}

async fn invitations_that_are_not_open_or_not_for_him_are_refused(db: &Db) {
    let site = Site::new(db).await;
    let old = invite(&site, |i| i.expires_at = i.created_at).await;
    let meant = invite(&site, |i| i.email = Some("wei@example.org".into())).await;
    for secret in [old.as_str(), "inv_0", "%00"] {
        let path = format!("/v1/invitations/{secret}/preview");
        site.send(request("GET", &path, None, None, &[])).await.problem(404, "not-found");
        sign_up(&site, "wei", json!({ "invitation": secret })).await.problem(404, "not-found");
    }
    let other = json!({ "invitation": meant, "email": "bo@example.org" });
    sign_up(&site, "wei", other).await.says(422, "invalid-request", &["another e-mail address", "wei@example.org"]);
    sign_up(&site, "alice", json!({ "invitation": meant })).await.problem(409, "already-exists");
    // What was refused has not used the invitation up.
    sign_up(&site, "wei", json!({ "invitation": meant, "email": " WEI@example.org" })).await.ok(201);
}

async fn without_an_invitation_the_site_says_who_may_come(db: &Db) {
    let (site, _mailbox) = site_with_mail(db).await;
    let told = site.send(request("GET", "/v1/site", None, None, &[])).await.ok(200);
    assert_eq!(
        (&told["sign_up"], &told["approval"], &told["fake"]),
        (&json!("invitation"), &json!(false), &json!(true))
    );
    let by_mail = json!({ "email": "wei@example.org" });
    sign_up(&site, "wei", by_mail.clone()).await.says(403, "sign-up-closed", &["by invitation"]);
    set(&site, json!({ "sign_up": "closed" })).await;
    sign_up(&site, "wei", by_mail.clone()).await.says(403, "sign-up-closed", &["takes no new users"]);
    set(&site, json!({ "sign_up": "email" })).await;
    sign_up(&site, "wei", json!({})).await.says(422, "invalid-request", &["an e-mail address is needed"]);
    sign_up(&site, "wei@example.org", by_mail.clone()).await.problem(422, "invalid-name");
    sign_up(&site, "wei", json!({ "email": "nobody" })).await.problem(422, "invalid-request");
    let weak = json!({ "name": "wei", "email": "wei@example.org", "password": "1234567890" });
    stranger(&site, "/v1/signup", weak).await.problem(422, "weak-password");
    assert_eq!(site.number("SELECT COUNT(*) FROM users WHERE name = 'wei'").await, 0);
}

async fn by_email(db: &Db) -> (Site, Mailbox) {
    let (site, mailbox) = site_with_mail(db).await;
    set(&site, json!({ "sign_up": "email", "name": "Lab" })).await;
    (site, mailbox)
}

async fn an_address_is_proven_by_the_link_that_was_mailed(db: &Db) {
    let (site, mailbox) = by_email(db).await;
    let done = sign_up(&site, "wei", json!({ "email": "Wei@Example.org", "cookie": true })).await;
    assert_eq!(done.header("set-cookie"), "", "he is not signed in yet");
    assert_eq!(done.ok(201), json!({ "state": "check-email" }));
    let mail = mailbox.take(&site.app).await.pop().unwrap();
    assert_eq!((mail.to.as_str(), mail.subject.as_str()), ("wei@example.org", "Lab: confirm your e-mail address"));
    let first = mail.secret("/verify");
    // With the right password he hears why, and gets the mail once more.
    login(&site, "wei").await.says(403, "awaiting-email", &["not confirmed", "once more"]);
    let again = mailbox.take(&site.app).await.pop().unwrap().secret("/verify");
    assert_ne!(first, again);
    stranger(&site, "/v1/login", json!({ "user": "wei", "password": "wrong" })).await.problem(401, "unauthenticated");
    // Nobody can sign in with an address that is not proven.
    login(&site, "wei@example.org").await.problem(401, "unauthenticated");
    assert_eq!(site.number("SELECT COUNT(*) FROM accounts WHERE name = 'wei'").await, 0);
    stranger(&site, "/v1/email/verify", json!({ "token": "suanli_0" })).await.problem(404, "not-found");
    let done = stranger(&site, "/v1/email/verify", json!({ "token": first })).await.ok(200);
    assert_eq!(done, json!({ "state": "ready" }));
    for used in [first, again] {
        stranger(&site, "/v1/email/verify", json!({ "token": used })).await.problem(404, "not-found");
    }
    let wei = signed_in(&site, "WEI@example.org").await;
    let whoami = site.get(&wei, "/v1/whoami").await.ok(200);
    assert_eq!(
        (&whoami["user"]["email"], &whoami["user"]["email_verified"]),
        (&json!("wei@example.org"), &json!(true))
    );
    assert_eq!(whoami["accounts"][0]["name"], "wei");
}

async fn an_address_that_is_somebodys_gives_nothing_away(db: &Db) {
    let (site, mailbox) = by_email(db).await;
    sign_up(&site, "wei", json!({ "email": "wei@example.org" })).await.ok(201);
    let link = mailbox.take(&site.app).await.pop().unwrap().secret("/verify");
    stranger(&site, "/v1/email/verify", json!({ "token": link })).await.ok(200);
    let fresh = sign_up(&site, "bo", json!({ "email": "bo@example.org" })).await.ok(201);
    let known = sign_up(&site, "mallory", json!({ "email": "wei@example.org" })).await.ok(201);
    assert_eq!(fresh, known);
    // Nor does the name tell afterwards: it is taken either way.
    for name in ["bo", "mallory"] {
        sign_up(&site, name, json!({ "email": "x@example.org" })).await.problem(409, "already-exists");
    }
    let mails = mailbox.take(&site.app).await;
    let to_wei: Vec<_> = mails.iter().filter(|m| m.to == "wei@example.org").collect();
    assert_eq!(to_wei.len(), 1);
    assert_eq!(to_wei[0].subject, "Lab: you have an account already");
    assert!(to_wei[0].text.contains("`wei`") && !to_wei[0].text.contains("mallory"), "{}", to_wei[0].text);
    let whoami = login(&site, "mallory").await.problem(403, "awaiting-email");
    assert!(whoami["user"].is_null());
}

/// Two give the same address: it is of the one who reads its mail.
async fn who_reads_the_mail_has_the_address(db: &Db) {
    let (site, mailbox) = by_email(db).await;
    sign_up(&site, "mallory", json!({ "email": "wei@example.org" })).await.ok(201);
    sign_up(&site, "wei", json!({ "email": "wei@example.org" })).await.ok(201);
    let mails = mailbox.take(&site.app).await;
    let of = |name: &str| mails.iter().find(|m| m.text.contains(&format!("`{name}`"))).unwrap().secret("/verify");
    stranger(&site, "/v1/email/verify", json!({ "token": of("wei") })).await.ok(200);
    let late = stranger(&site, "/v1/email/verify", json!({ "token": of("mallory") })).await;
    late.says(409, "already-exists", &["another user"]);
    assert_eq!(login(&site, "wei@example.org").await.ok(201)["user"]["name"], "wei");
}

async fn an_operator_approves_whom_no_operator_invited(db: &Db) {
    let (site, mailbox) = by_email(db).await;
    set(&site, json!({ "approval": true })).await;
    for (name, language) in [("wei", "en"), ("fei", "zh-CN")] {
        let email = format!("{name}@example.org");
        sign_up(&site, name, json!({ "email": email, "language": language })).await.ok(201);
        let link = mailbox.take(&site.app).await.pop().unwrap().secret("/verify");
        let done = stranger(&site, "/v1/email/verify", json!({ "token": link })).await.ok(200);
        assert_eq!(done["state"], "awaiting-approval");
    }
    login(&site, "wei").await.says(403, "awaiting-approval", &["not approved"]);
    let by_member = sign_up(&site, "bo", json!({ "invitation": invite(&site, |_| ()).await, "cookie": true })).await;
    assert_eq!(by_member.header("set-cookie"), "");
    assert_eq!(by_member.ok(201), json!({ "state": "awaiting-approval" }));
    let by_operator = sign_up(&site, "li", json!({ "invitation": invite(&site, of_ones_own("0")).await })).await;
    assert_eq!(by_operator.ok(201)["state"], "ready");
    let decide = async |what: &str| {
        let path = format!("/v1/users/{what}");
        site.send(request("POST", &path, Some(&site.operator), None, &[])).await.ok(200);
        mailbox.take(&site.app).await
    };
    let mail = decide("wei/approve").await.pop().unwrap();
    assert_eq!((mail.to.as_str(), mail.subject.as_str()), ("wei@example.org", "Lab: welcome"));
    assert!(mail.text.contains("`wei`") && mail.text.contains(&format!("{SITE}/sign-in")), "{}", mail.text);
    login(&site, "wei").await.ok(201);
    // Who is refused hears it in his language.
    let mail = decide("fei/disable").await.pop().unwrap();
    assert_eq!(mail.to, "fei@example.org");
    assert!(mail.text.contains("未通过您的用户“fei”"), "{}", mail.text);
    // Later changes are no answer to a sign-up, and who has proven no address gets no mail.
    for what in ["fei/enable", "wei/disable", "bo/approve"] {
        assert!(decide(what).await.is_empty(), "{what}");
    }
}

/// The link in the mail is of the site, however the inviter called it.
async fn an_invitation_is_mailed_to_whom_it_names(db: &Db) {
    let (site, mailbox) = site_with_mail(db).await;
    let body = json!({ "email": "Wei@example.org", "role": "viewer" });
    let path = format!("/v1/accounts/{}/invitations", site.alpha);
    let host = [("host", "evil.example")];
    site.send(request("POST", &path, Some(&site.alice), Some(&body), &host)).await.ok(201);
    site.post(&site.operator, "/v1/invitations", json!({ "email": "bo@example.org" })).await.ok(201);
    site.post(&site.operator, "/v1/invitations", json!({})).await.ok(201);
    let mails = mailbox.take(&site.app).await;
    let mut to: Vec<_> = mails.iter().map(|m| m.to.as_str()).collect();
    to.sort_unstable();
    assert_eq!(to, ["bo@example.org", "wei@example.org"]);
    for mail in &mails {
        assert!(mail.text.contains("invites you") && !mail.text.contains("evil"), "{}", mail.text);
        sign_up(&site, &mail.to[..2], json!({ "invitation": mail.secret("/sign-up") })).await.ok(201);
    }
    assert_eq!(site.number("SELECT COUNT(*) FROM members WHERE role = 'viewer'").await, 1);
}

async fn names_are_not_kept_for_who_never_proves_himself(db: &Db) {
    let (site, _mailbox) = by_email(db).await;
    sign_up(&site, "wei", json!({ "email": "a@example.org" })).await.ok(201);
    sign_up(&site, "wei", json!({ "email": "b@example.org" })).await.problem(409, "already-exists");
    let mut db = site.app.store.read().await.unwrap();
    let old = site.app.now().before(Span::from_hours(73)).micros();
    sqlx::query("UPDATE users SET created_at = $1 WHERE name = 'wei'").bind(old).execute(&mut *db).await.unwrap();
    drop(db);
    sign_up(&site, "wei", json!({ "email": "b@example.org" })).await.ok(201);
    assert_eq!(site.number("SELECT COUNT(*) FROM users WHERE name = 'wei'").await, 1);
}

async fn nobodys_mailbox_is_filled(db: &Db) {
    let (site, mailbox) = by_email(db).await;
    for n in 0..15 {
        sign_up(&site, &format!("user-{n}"), json!({ "email": "wei@example.org" })).await.ok(201);
    }
    assert_eq!(mailbox.take(&site.app).await.len(), 10);
}

/// The program of the limits is their own test; here it is that the route asks them.
async fn who_signs_up_again_and_again_has_to_wait(db: &Db) {
    let (mut site, _mailbox) = by_email(db).await;
    let day = server::limits::Rate { every: Duration::from_secs(86_400), burst: 2 };
    let limits = server::limits::Limits { signups_per_address: day, behind_proxy: true, ..Default::default() };
    let app: App = site.app.clone().with_limits(limits);
    site.router = server::router(app);
    let ask = async |path: &str, from: &str, body: Value| {
        let mut asked = request("POST", path, None, Some(&body), &[("x-forwarded-for", from)]);
        asked.extensions_mut().insert(server::limits::Peer([127, 0, 0, 1].into()));
        site.send(asked).await.status
    };
    let forgot = json!({ "email": "wei@example.org" });
    let up = json!({ "name": "wei", "email": "wei@example.org", "password": PASSWORD });
    assert_eq!(ask("/v1/password/forgot", "203.0.113.1", forgot.clone()).await, 202);
    assert_eq!(ask("/v1/signup", "203.0.113.1", up.clone()).await, 201);
    assert_eq!(ask("/v1/signup", "203.0.113.1", up.clone()).await, 429);
    assert_eq!(ask("/v1/email/verify", "203.0.113.1", json!({ "token": "x" })).await, 429);
    assert_eq!(ask("/v1/password/reset", "203.0.113.1", json!({ "token": "x", "password": PASSWORD })).await, 429);
    // Others do not wait for him.
    assert_eq!(ask("/v1/password/forgot", "203.0.113.2", forgot).await, 202);
}

both!(
    an_invitation_leads_into_its_account_once,
    an_invitation_of_ones_own_brings_an_account_and_credit,
    invitations_that_are_not_open_or_not_for_him_are_refused,
    without_an_invitation_the_site_says_who_may_come,
    an_address_is_proven_by_the_link_that_was_mailed,
    an_address_that_is_somebodys_gives_nothing_away,
    who_reads_the_mail_has_the_address,
    an_operator_approves_whom_no_operator_invited,
    an_invitation_is_mailed_to_whom_it_names,
    names_are_not_kept_for_who_never_proves_himself,
    nobodys_mailbox_is_filled,
    who_signs_up_again_and_again_has_to_wait,
);
