//! Projects: what instances carry, what is limited by it, and what it cost.

use base::Span;
use domain::rights::Role;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::db::{Db, both};
use crate::members::member;
use crate::site::{CARD, Site};

const VISION: &str = "/v1/accounts/alpha/projects/vision/quotas";

async fn rent(site: &Site, project: Value) -> Answer {
    site.post(&site.alice, "/v1/instances", json!({ "gpu": CARD, "project": project })).await
}

async fn an_instance_carries_its_project(db: &Db) {
    let site = Site::new(db).await;
    let made = rent(&site, json!(" vision ")).await.ok(202);
    assert_eq!(made["project"], "vision");
    let path = format!("/v1/instances/{}", made["id"].as_str().unwrap());
    assert_eq!(site.get(&site.alice, &path).await.ok(200)["project"], "vision");
    assert!(rent(&site, Value::Null).await.ok(202).get("project").is_none());
    rent(&site, json!("计算机视觉")).await.ok(202);
    for (query, many) in [
        ("", 3),
        ("?project=vision", 1),
        ("?project=Vision", 0),
        ("?project=%E8%AE%A1%E7%AE%97%E6%9C%BA%E8%A7%86%E8%A7%89&account=alpha", 1),
    ] {
        let found = site.get(&site.alice, &format!("/v1/instances{query}")).await.ok(200);
        assert_eq!(found["items"].as_array().unwrap().len(), many, "{query}");
    }
    // What is not one's own is not found by its project either.
    let found = site.get(&site.bob, "/v1/instances?project=vision").await.ok(200);
    assert_eq!(found["items"], json!([]));
    for odd in ["", "a\nb", "..", &"x".repeat(65)] {
        rent(&site, json!(odd)).await.says(422, "invalid-name", &["the project"]);
        let quote = json!({ "gpu": CARD, "project": odd });
        site.post(&site.alice, "/v1/quotes", quote).await.problem(422, "invalid-name");
    }
    site.get(&site.alice, "/v1/instances?project=a%0Ab").await.problem(422, "invalid-name");
    assert_eq!(site.number("SELECT COUNT(*) FROM instances").await, 3);
}

async fn its_owners_limit_a_project(db: &Db) {
    let site = Site::new(db).await;
    let mia = member(&site, "mia", &site.alpha, Role::Member).await;
    assert_eq!(site.get(&mia, VISION).await.ok(200)["quotas"], json!({ "cards": {} }));
    let wanted = json!({ "cards": { "RTX 4090": 2 }, "instances": 1, "spend_per_day": "9.50" });
    site.put(&mia, VISION, wanted.clone()).await.says(403, "forbidden", &["set-project-quotas"]);
    let set = site.put(&site.alice, VISION, wanted).await.ok(200);
    assert_eq!((&set["quotas"]["cards"][CARD], &set["quotas"]["instances"]), (&json!(2), &json!(1)));
    // Those of the account are another thing, and not his to set.
    assert_eq!(site.get(&mia, "/v1/accounts/alpha/quotas").await.ok(200)["quotas"], json!({ "cards": {} }));
    site.put(&site.alice, "/v1/accounts/alpha/quotas", json!({})).await.problem(403, "forbidden");
    rent(&site, json!("vision")).await.ok(202);
    let words = [
        "the quota of the project `vision` is 1 instances",
        "1 used, 1 more asked for",
        "ask an owner or admin of this account",
    ];
    rent(&site, json!("vision")).await.says(409, "quota-exceeded", &words);
    rent(&site, json!("speech")).await.ok(202);
    site.put(&site.operator, "/v1/accounts/alpha/quotas", json!({ "instances": 2 })).await.ok(200);
    let words = ["the quota of this account is 2 instances", "2 used", "ask an operator"];
    rent(&site, json!("speech")).await.says(409, "quota-exceeded", &words);
    // An operator may help out.
    site.put(&site.operator, VISION, json!({})).await.ok(200);
    assert_eq!(site.get(&mia, VISION).await.ok(200)["used"]["instances"], 1);
    for (odd, cause) in
        [(json!({ "instances": -1 }), "invalid-count"), (json!({ "cards": { "Voodoo 3": 1 } }), "unknown-gpu")]
    {
        site.put(&site.alice, VISION, odd).await.problem(422, cause);
    }
    for odd in ["%20", "%2E%2E", "a%0Ab"] {
        let path = format!("/v1/accounts/alpha/projects/{odd}/quotas");
        site.get(&site.alice, &path).await.problem(422, "invalid-name");
        site.put(&site.alice, &path, json!({})).await.problem(422, "invalid-name");
    }
    // A name may hold what divides an address.
    site.put(&site.operator, "/v1/accounts/alpha/quotas", json!({})).await.ok(200);
    let path = "/v1/accounts/alpha/projects/a%2Fb%20%3F/quotas";
    site.put(&site.alice, path, json!({ "instances": 0 })).await.ok(200);
    rent(&site, json!("a/b ?")).await.says(409, "quota-exceeded", &["`a/b ?`"]);
}

async fn projects_are_listed_with_what_they_have(db: &Db) {
    let site = Site::new(db).await;
    let path = "/v1/accounts/alpha/projects";
    assert_eq!(site.get(&site.alice, path).await.ok(200)["items"], json!([]));
    rent(&site, json!("vision")).await.ok(202);
    rent(&site, Value::Null).await.ok(202);
    site.put(&site.alice, "/v1/accounts/alpha/projects/audio/quotas", json!({ "instances": 3 })).await.ok(200);
    site.put(&site.alice, VISION, json!({ "cards_total": 5 })).await.ok(200);
    let items = site.get(&site.alice, path).await.ok(200)["items"].clone();
    let names: Vec<_> = items.as_array().unwrap().iter().map(|i| i["project"].as_str().unwrap()).collect();
    assert_eq!(names, ["audio", "vision"]);
    assert_eq!((&items[0]["quotas"]["instances"], &items[0]["used"]["instances"]), (&json!(3), &json!(0)));
    assert_eq!((&items[1]["quotas"]["cards_total"], &items[1]["used"]["cards"][CARD]), (&json!(5), &json!(1)));
    assert_eq!(items[1]["used"]["spend_per_day"]["amount"], "1.80");
    let alone = site.get(&site.alice, VISION).await.ok(200);
    assert_eq!((&alone["used"], &alone["quotas"]), (&items[1]["used"], &items[1]["quotas"]));
    // Another account has projects of its own, of whatever name.
    assert_eq!(site.get(&site.bob, "/v1/accounts/beta/projects").await.ok(200)["items"], json!([]));
    site.get(&site.bob, path).await.problem(404, "not-found");
    site.get(&site.bob, VISION).await.problem(404, "not-found");
}

async fn of_two_at_once_one_gets_the_last_card_of_a_project(db: &Db) {
    let site = Site::new(db).await;
    site.put(&site.alice, VISION, json!({ "cards_total": 1 })).await.ok(200);
    let answers = join_all((0..2).map(|_| rent(&site, json!("vision")))).await;
    assert_eq!(answers.iter().filter(|a| a.status == 202).count(), 1);
    answers.iter().filter(|a| a.status != 202).for_each(|a| drop(a.problem(409, "quota-exceeded")));
}

async fn a_start_is_judged_by_the_quotas_of_its_project(db: &Db) {
    let site = Site::new(db).await;
    let first = rent(&site, json!("vision")).await.ok(202)["id"].as_str().unwrap().parse().unwrap();
    site.state(&first, domain::instance::State::Stopped, "stopped").await;
    rent(&site, json!("vision")).await.ok(202);
    site.put(&site.alice, VISION, json!({ "cards_total": 1 })).await.ok(200);
    let start = format!("/v1/instances/{first}/start");
    site.post(&site.alice, &start, json!({})).await.says(409, "quota-exceeded", &["the project `vision`"]);
}

async fn the_bill_adds_up_by_project(db: &Db) {
    let site = Site::new(db).await;
    for project in [json!("vision"), json!("vision"), json!("speech"), Value::Null] {
        let id = rent(&site, project).await.ok(202)["id"].as_str().unwrap().parse().unwrap();
        site.run(&id, Span::from_secs(100)).await;
    }
    site.proven(site.app.now()).await;
    let bill = site.get(&site.alice, "/v1/bill").await.ok(200);
    let projects = bill["projects"].as_array().unwrap();
    let names: Vec<_> = projects.iter().map(|p| (p["project"].as_str(), p["instances"].as_i64().unwrap())).collect();
    assert_eq!(names, [(None, 1), (Some("speech"), 1), (Some("vision"), 2)]);
    let micros = |v: &Value| v["micros"].as_i64().unwrap();
    let sum: i64 = projects.iter().map(|p| micros(&p["total"])).sum();
    assert!(sum > 0 && sum == micros(&bill["total"]), "{bill}");
    for one in projects {
        let groups = bill["groups"].as_array().unwrap().iter().filter(|g| g.get("project") == one.get("project"));
        let lines: i64 = groups.flat_map(|g| g["lines"].as_array().unwrap()).map(|l| micros(&l["exact"])).sum();
        assert_eq!(lines, micros(&one["total"]));
    }
}

both!(
    an_instance_carries_its_project,
    its_owners_limit_a_project,
    projects_are_listed_with_what_they_have,
    of_two_at_once_one_gets_the_last_card_of_a_project,
    a_start_is_judged_by_the_quotas_of_its_project,
    the_bill_adds_up_by_project,
);
