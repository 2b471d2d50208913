//! Members of accounts and invitations into them.

use base::{AccountId, Span};
use domain::rights::{OperatorRole, Role};
use futures_util::future::join;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::db::{Db, both, write};
use crate::mailbox::{SITE, site_with_mail};
use crate::site::{Person, Site, person, request};
use crate::tokens::{delete, token};

/// A user with a role in an account.
pub async fn member(site: &Site, name: &str, account: &AccountId, role: Role) -> Person {
    let one = person(&site.app, name, false).await;
    let (account, user, now) = (account.clone(), one.id.clone(), site.app.now());
    write!(site.app.store, |tx, account, user| store::users::join(tx, &account, &user, role, now).await).unwrap();
    one
}

/// A user who operates the site in a role.
pub async fn operator(site: &Site, name: &str, role: OperatorRole) -> Person {
    let one = person(&site.app, name, false).await;
    let user = one.id.clone();
    assert!(write!(site.app.store, |tx, user| store::users::set_operator(tx, &user, Some(role)).await).unwrap());
    one
}

async fn role(site: &Site, by: &Person, user: &str, role: &str) -> Answer {
    site.put(by, &format!("/v1/accounts/alpha/members/{user}"), json!({ "role": role })).await
}

async fn roles(site: &Site) -> Value {
    let list = site.get(&site.operator, "/v1/accounts/alpha/members").await.ok(200);
    let all = list["items"].as_array().unwrap().iter();
    all.map(|m| (m["user"]["name"].as_str().unwrap().to_owned(), m["role"].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

async fn owners_make_owners_and_the_last_one_stays(db: &Db) {
    let site = Site::new(db).await;
    let admin = member(&site, "adam", &site.alpha, Role::Admin).await;
    member(&site, "mia", &site.alpha, Role::Member).await;
    role(&site, &admin, "mia", "owner").await.says(403, "forbidden", &["admin", "manage-owners", "owner"]);
    role(&site, &admin, "alice", "viewer").await.problem(403, "forbidden");
    delete(&site, &admin, "/v1/accounts/alpha/members/alice").await.problem(403, "forbidden");
    assert_eq!(role(&site, &admin, "mia", "billing").await.ok(200)["role"], "billing");
    role(&site, &site.alice, "alice", "member").await.says(409, "wrong-state", &["last owner"]);
    delete(&site, &site.alice, "/v1/accounts/alpha/members/alice").await.says(409, "wrong-state", &["last owner"]);
    role(&site, &site.alice, "adam", "owner").await.ok(200);
    role(&site, &site.alice, "alice", "member").await.ok(200);
    role(&site, &site.alice, "mia", "boss").await.problem(403, "forbidden");
    role(&site, &admin, "mia", "boss").await.says(422, "invalid-request", &["boss", "owner, admin"]);
    role(&site, &admin, "bob", "viewer").await.says(404, "not-found", &["the member `bob`"]);
    assert_eq!(roles(&site).await, json!({ "adam": "owner", "alice": "member", "mia": "billing" }));
}

/// Whoever has no right over others can still leave.
async fn everybody_can_leave_by_himself(db: &Db) {
    let site = Site::new(db).await;
    let viewer = member(&site, "vera", &site.alpha, Role::Viewer).await;
    member(&site, "mia", &site.alpha, Role::Member).await;
    delete(&site, &viewer, "/v1/accounts/alpha/members/mia").await.problem(403, "forbidden");
    let program = token(&site, &viewer, json!({ "name": "x", "scopes": ["read"], "account": "alpha" })).await;
    delete(&site, &program, "/v1/accounts/alpha/members/vera").await.problem(403, "forbidden");
    site.get(&program, "/v1/balance").await.ok(200);
    assert_eq!(delete(&site, &viewer, "/v1/accounts/alpha/members/vera").await.status, 204);
    site.get(&viewer, "/v1/accounts/alpha/members").await.problem(404, "not-found");
    site.get(&program, "/v1/whoami").await.problem(401, "unauthenticated");
}

async fn two_owners_at_one_moment_do_not_unmake_each_other(db: &Db) {
    let site = Site::new(db).await;
    let other = member(&site, "olga", &site.alpha, Role::Owner).await;
    for _ in 0..10 {
        let (one, two) =
            join(role(&site, &site.alice, "olga", "admin"), delete(&site, &other, "/v1/accounts/alpha/members/olga"))
                .await;
        let owners = site.number("SELECT COUNT(*) FROM members m JOIN accounts a ON a.id = m.account_id WHERE a.name = 'alpha' AND m.role = 'owner'").await;
        assert_eq!(owners, 1, "{one:?} {two:?}");
        let (one, two) =
            join(role(&site, &site.alice, "alice", "admin"), async { site.get(&site.bob, "/v1/whoami").await }).await;
        one.problem(409, "wrong-state");
        two.ok(200);
        let (account, user, now) = (site.alpha.clone(), other.id.clone(), site.app.now());
        write!(db.store, |tx, account, user| store::users::join(tx, &account, &user, Role::Owner, now).await).unwrap();
        let (one, two) = join(role(&site, &site.alice, "alice", "admin"), role(&site, &other, "olga", "admin")).await;
        assert_eq!([one.status, two.status].iter().filter(|s| **s == 200).count(), 1, "{one:?} {two:?}");
        let (account, users) = (site.alpha.clone(), [site.alice.id.clone(), other.id.clone()]);
        write!(db.store, |tx, account, users| {
            for user in &users {
                store::users::join(tx, &account, user, Role::Owner, now).await?;
            }
            Ok(())
        })
        .unwrap();
    }
}

async fn invite(site: &Site, by: &Person, body: Value) -> Answer {
    site.post(by, "/v1/accounts/alpha/invitations", body).await
}

async fn accept(site: &Site, by: &Person, secret: &Value) -> Answer {
    site.post(by, "/v1/invitations/accept", json!({ "secret": secret })).await
}

async fn an_invitation_is_accepted_once(db: &Db) {
    let site = Site::new(db).await;
    let body = json!({ "role": "member", "days": 3 });
    let made = site
        .send(request(
            "POST",
            "/v1/accounts/alpha/invitations",
            Some(&site.alice),
            Some(&body),
            &[("host", "gpu.example"), ("x-forwarded-proto", "https")],
        ))
        .await
        .ok(201);
    let secret = made["secret"].as_str().unwrap();
    assert_eq!(made["link"], format!("https://gpu.example/sign-up#{secret}"));
    assert!(secret.starts_with("inv_") && secret.len() == 68);
    let list = site.get(&site.alice, "/v1/accounts/alpha/members").await;
    assert!(!list.text().contains(secret));
    assert_eq!(list.ok(200)["invitations"][0]["by"], "alice");
    assert_eq!(
        accept(&site, &site.bob, &made["secret"]).await.ok(200),
        json!({ "id": site.alpha.as_str(), "name": "alpha", "role": "member", "currency": "CNY", "time_zone": "Asia/Shanghai" })
    );
    let carol = person(&site.app, "carol", false).await;
    accept(&site, &carol, &made["secret"]).await.says(404, "not-found", &["this invitation", "ask for a new one"]);
    assert_eq!(site.get(&site.alice, "/v1/accounts/alpha/members").await.ok(200)["invitations"], json!([]));
    let again = invite(&site, &site.alice, json!({ "role": "admin" })).await.ok(201);
    // He keeps his role, and the invitation is still there for somebody else.
    accept(&site, &site.bob, &again["secret"]).await.problem(409, "already-exists");
    assert_eq!(roles(&site).await, json!({ "alice": "owner", "bob": "member" }));
    accept(&site, &carol, &again["secret"]).await.ok(200);
}

async fn invitations_can_be_taken_back_and_end(db: &Db) {
    let site = Site::new(db).await;
    let admin = member(&site, "adam", &site.alpha, Role::Admin).await;
    let viewer = member(&site, "vera", &site.alpha, Role::Viewer).await;
    invite(&site, &viewer, json!({ "role": "viewer" })).await.problem(403, "forbidden");
    invite(&site, &admin, json!({ "role": "owner" })).await.problem(403, "forbidden");
    for (body, word) in [
        (json!({ "role": "viewer", "days": 91 }), "90 days"),
        (json!({ "role": "viewer", "email": "nobody" }), "e-mail"),
        (json!({ "role": "boss" }), "owner, admin"),
    ] {
        invite(&site, &admin, body).await.says(422, "invalid-request", &[word]);
    }
    let first = invite(&site, &admin, json!({ "role": "viewer" })).await.ok(201);
    let path = format!("/v1/invitations/{}", first["id"].as_str().unwrap());
    delete(&site, &site.bob, &path).await.problem(404, "not-found");
    delete(&site, &viewer, &path).await.problem(403, "forbidden");
    assert_eq!(delete(&site, &site.alice, &path).await.status, 204);
    delete(&site, &site.alice, &path).await.problem(409, "wrong-state");
    accept(&site, &site.bob, &first["secret"]).await.problem(404, "not-found");
    // Those of somebody who is taken out of the account end with that.
    let second = invite(&site, &admin, json!({ "role": "viewer" })).await.ok(201);
    assert_eq!(delete(&site, &site.alice, "/v1/accounts/alpha/members/adam").await.status, 204);
    accept(&site, &site.bob, &second["secret"]).await.problem(404, "not-found");
    let third = invite(&site, &site.alice, json!({ "role": "viewer" })).await.ok(201);
    let past = site.app.now().before(Span::from_secs(1));
    write!(db.store, |tx| {
        sqlx::query("UPDATE invitations SET expires_at = $1").bind(past.micros()).execute(&mut **tx).await?;
        Ok(())
    })
    .unwrap();
    accept(&site, &site.bob, &third["secret"]).await.problem(404, "not-found");
}

async fn an_invitation_for_an_address_is_for_its_owner(db: &Db) {
    let site = Site::new(db).await;
    let made = invite(&site, &site.alice, json!({ "role": "viewer", "email": " Carol@Example.com " })).await.ok(201);
    accept(&site, &site.bob, &made["secret"]).await.says(403, "forbidden", &["another e-mail address"]);
    let carol = person(&site.app, "carol", false).await;
    let user = carol.id.clone();
    write!(db.store, |tx, user| {
        sqlx::query("UPDATE users SET email = 'carol@example.com' WHERE id = $1")
            .bind(user.as_str())
            .execute(&mut **tx)
            .await?;
        Ok(())
    })
    .unwrap();
    accept(&site, &carol, &made["secret"]).await.ok(200);
}

async fn an_invitation_for_an_address_is_mailed_there(db: &Db) {
    let (site, mailbox) = site_with_mail(db).await;
    let made = invite(&site, &site.alice, json!({ "role": "viewer", "email": "carol@example.com" })).await.ok(201);
    invite(&site, &site.alice, json!({ "role": "viewer" })).await.ok(201);
    let mails = mailbox.take(&site.app).await;
    assert_eq!((mails.len(), mails[0].to.as_str()), (1, "carol@example.com"));
    assert_eq!(mails[0].secret("/sign-up"), made["secret"].as_str().unwrap());
    assert_eq!(made["link"], format!("{SITE}/sign-up#{}", made["secret"].as_str().unwrap()));
}

async fn operators_invite_to_sign_up(db: &Db) {
    let site = Site::new(db).await;
    let support = operator(&site, "sam", OperatorRole::Support).await;
    site.post(&support, "/v1/invitations", json!({ "credit": "5" })).await.says(403, "forbidden", &["top-up"]);
    for credit in ["0", "-1", "x", "1000000001"] {
        site.post(&site.operator, "/v1/invitations", json!({ "credit": credit })).await.problem(422, "invalid-amount");
    }
    let made = site.post(&support, "/v1/invitations", json!({ "account_name": "lab" })).await.ok(201);
    site.post(&site.operator, "/v1/invitations", json!({ "credit": "20", "email": "a@b.example" })).await.ok(201);
    let list = site.get(&support, "/v1/invitations").await;
    assert!(!list.text().contains("inv_"));
    let list = list.ok(200);
    assert_eq!(list["items"][1]["account_name"], "lab");
    assert_eq!(list["items"][0]["credit"]["amount"], "20.00");
    accept(&site, &site.bob, &made["secret"]).await.says(409, "wrong-state", &["sign up"]);
    let path = format!("/v1/invitations/{}", made["id"].as_str().unwrap());
    delete(&site, &site.bob, &path).await.problem(404, "not-found");
    assert_eq!(delete(&site, &support, &path).await.status, 204);
    assert_eq!(site.get(&support, "/v1/invitations").await.ok(200)["items"].as_array().unwrap().len(), 1);
}

both!(
    owners_make_owners_and_the_last_one_stays,
    everybody_can_leave_by_himself,
    two_owners_at_one_moment_do_not_unmake_each_other,
    an_invitation_is_accepted_once,
    invitations_can_be_taken_back_and_end,
    an_invitation_for_an_address_is_for_its_owner,
    an_invitation_for_an_address_is_mailed_there,
    operators_invite_to_sign_up,
);
