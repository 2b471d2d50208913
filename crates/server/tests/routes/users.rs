//! Users as operators see and change them.

use domain::rights::{OperatorRole, Role};
use futures_util::future::join;
use serde_json::json;

use crate::answer::Answer;
use crate::db::{Db, both, write};
use crate::members::{member, operator};
use crate::site::{Person, Site, person};
use crate::tokens::token;

async fn set(site: &Site, by: &Person, user: &str, what: &str) -> Answer {
    site.post(by, &format!("/v1/users/{user}/{what}"), json!({})).await
}

async fn users_are_found_page_by_page(db: &Db) {
    let site = Site::new(db).await;
    member(&site, "Mia_Xu", &site.alpha, Role::Viewer).await;
    for n in 0..5 {
        person(&site.app, &format!("extra-{n}"), false).await;
    }
    let names = |answer: Answer| -> Vec<String> {
        let items = answer.ok(200)["items"].clone();
        items.as_array().unwrap().iter().map(|u| u["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut all = Vec::new();
    let mut path = "/v1/users?limit=4".to_owned();
    loop {
        let page = site.get(&site.operator, &path).await;
        let next = page.ok(200)["next_cursor"].as_str().map(str::to_owned);
        all.extend(names(page));
        match next {
            Some(cursor) => path = format!("/v1/users?limit=4&cursor={cursor}"),
            None => break,
        }
    }
    all.sort();
    assert_eq!(all.len(), 9);
    all.dedup();
    assert_eq!(all.len(), 9);
    assert_eq!(names(site.get(&site.operator, "/v1/users?q=mia_").await), ["Mia_Xu"]);
    // What means something in SQL is a letter like others.
    assert_eq!(names(site.get(&site.operator, "/v1/users?q=%25").await), [""; 0]);
    assert_eq!(names(site.get(&site.operator, "/v1/users?q=!").await), [""; 0]);
    assert_eq!(names(site.get(&site.operator, "/v1/users?state=disabled").await), [""; 0]);
    site.get(&site.operator, "/v1/users?state=odd").await.says(422, "invalid-request", &["odd", "awaiting-approval"]);
    site.get(&site.operator, "/v1/users?limit=0").await.problem(422, "invalid-request");
    let mia = site.get(&site.operator, "/v1/users?q=mia").await.ok(200)["items"][0].clone();
    assert_eq!((mia["state"].as_str(), mia["totp"].as_bool()), (Some("active"), Some(false)));
    assert_eq!((&mia["accounts"][0]["name"], &mia["accounts"][0]["role"]), (&json!("alpha"), &json!("viewer")));
}

async fn who_is_shut_out_is_out_at_once(db: &Db) {
    let site = Site::new(db).await;
    let program = token(&site, &site.alice, json!({ "name": "x", "scopes": ["read"] })).await;
    site.get(&program, "/v1/balance").await.ok(200);
    assert_eq!(set(&site, &site.operator, "alice", "disable").await.ok(200)["state"], "disabled");
    site.get(&site.alice, "/v1/whoami").await.problem(401, "unauthenticated");
    site.get(&program, "/v1/balance").await.problem(401, "unauthenticated");
    set(&site, &site.operator, "alice", "disable").await.says(409, "wrong-state", &["disabled"]);
    assert_eq!(set(&site, &site.operator, "alice", "enable").await.ok(200)["state"], "active");
    // What was ended stays ended.
    site.get(&site.alice, "/v1/whoami").await.problem(401, "unauthenticated");
    site.get(&program, "/v1/balance").await.problem(401, "unauthenticated");
    set(&site, &site.operator, "nobody", "disable").await.problem(404, "not-found");
}

async fn who_waits_is_let_in(db: &Db) {
    let site = Site::new(db).await;
    set(&site, &site.operator, "bob", "approve").await.says(409, "wrong-state", &["active"]);
    let bob = site.bob.id.clone();
    write!(db.store, |tx, bob| {
        sqlx::query("UPDATE users SET state = 'awaiting-approval' WHERE id = $1")
            .bind(bob.as_str())
            .execute(&mut **tx)
            .await?;
        Ok(())
    })
    .unwrap();
    site.get(&site.bob, "/v1/whoami").await.problem(401, "unauthenticated");
    assert_eq!(set(&site, &site.operator, site.bob.id.as_str(), "approve").await.ok(200)["state"], "active");
    site.get(&site.bob, "/v1/whoami").await.ok(200);
}

/// Whoever could change how an operator signs in could become one.
async fn only_an_admin_changes_operators(db: &Db) {
    let site = Site::new(db).await;
    let support = operator(&site, "sam", OperatorRole::Support).await;
    operator(&site, "ada", OperatorRole::Auditor).await;
    for what in ["disable", "enable", "approve", "password", "totp/remove"] {
        set(&site, &support, "operator", what).await.says(403, "forbidden", &["manage-site"]);
        set(&site, &support, "ada", what).await.problem(403, "forbidden");
    }
    set(&site, &site.operator, "operator", "disable").await.says(409, "wrong-state", &["himself"]);
    let given = set(&site, &support, "alice", "password").await.ok(200);
    let password = given["password"].as_str().unwrap();
    site.get(&site.alice, "/v1/whoami").await.problem(401, "unauthenticated");
    let login = json!({ "user": "alice", "password": password });
    site.send(crate::site::request("POST", "/v1/login", None, Some(&login), &[])).await.ok(201);
    set(&site, &support, "alice", "totp/remove").await.says(409, "wrong-state", &["no second factor"]);
    set(&site, &site.operator, "ada", "disable").await.ok(200);
}

async fn the_last_admin_stays(db: &Db) {
    let site = Site::new(db).await;
    let role = async |by: &Person, user: &str, role: Option<&str>| {
        site.put(by, &format!("/v1/users/{user}/role"), json!({ "operator_role": role })).await
    };
    role(&site.operator, "operator", Some("auditor")).await.says(409, "wrong-state", &["last admin"]);
    role(&site.operator, "operator", None).await.problem(409, "wrong-state");
    role(&site.operator, "alice", Some("king")).await.says(422, "invalid-request", &["king", "support"]);
    assert_eq!(role(&site.operator, "alice", Some("finance")).await.ok(200)["operator_role"], "finance");
    role(&site.operator, "operator", None).await.problem(409, "wrong-state");
    role(&site.alice, "alice", Some("admin")).await.problem(403, "forbidden");
    for _ in 0..10 {
        assert_eq!(role(&site.operator, "alice", Some("admin")).await.ok(200)["operator_role"], "admin");
        let (one, two) = join(role(&site.operator, "alice", None), role(&site.alice, "operator", None)).await;
        let left = site.number("SELECT COUNT(*) FROM users WHERE operator = 1").await;
        assert_eq!(left, 1, "{one:?} {two:?}");
        let user = site.operator.id.clone();
        write!(db.store, |tx, user| store::users::set_operator(tx, &user, Some(OperatorRole::Admin)).await).unwrap();
    }
}

async fn two_admins_do_not_shut_each_other_out(db: &Db) {
    let site = Site::new(db).await;
    let other = operator(&site, "olga", OperatorRole::Admin).await;
    let (one, two) =
        join(set(&site, &site.operator, "olga", "disable"), set(&site, &other, "operator", "disable")).await;
    let left = site.number("SELECT COUNT(*) FROM users WHERE operator = 1 AND state = 'active'").await;
    assert_eq!(left, 1, "{one:?} {two:?}");
}

both!(
    users_are_found_page_by_page,
    who_is_shut_out_is_out_at_once,
    who_waits_is_let_in,
    only_an_admin_changes_operators,
    the_last_admin_stays,
    two_admins_do_not_shut_each_other_out,
);
