//! Quotas of accounts: what a rent or a start may not exceed.

use base::Span;
use domain::instance::State;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::db::{Db, both};
use crate::site::{CARD, Site};

async fn limit(site: &Site, quotas: Value) -> Value {
    site.put(&site.operator, "/v1/accounts/alpha/quotas", quotas).await.ok(200)
}

async fn rent(site: &Site, count: i64) -> Answer {
    site.post(&site.alice, "/v1/instances", json!({ "gpu": CARD, "count": count })).await
}

async fn quotas_are_shown_with_what_is_used(db: &Db) {
    let site = Site::new(db).await;
    let none = site.get(&site.alice, "/v1/accounts/alpha/quotas").await.ok(200);
    assert_eq!(none["quotas"], json!({ "cards": {} }));
    assert_eq!(none["used"]["cards_total"], 0);
    let wanted = json!({ "cards": { "RTX 4090": 2 }, "cards_total": 3, "instances": 4, "storage_gib": 5000, "spend_per_day": "12.50" });
    limit(&site, wanted).await;
    rent(&site, 2).await.ok(202);
    let now = site.get(&site.alice, "/v1/accounts/alpha/quotas").await.ok(200);
    assert_eq!((&now["quotas"]["cards"][CARD], &now["used"]["cards"][CARD]), (&json!(2), &json!(2)));
    assert_eq!((&now["quotas"]["instances"], &now["used"]["instances"]), (&json!(4), &json!(1)));
    assert_eq!(now["quotas"]["spend_per_day"]["amount"], "12.50");
    // The hour that the start has set aside.
    assert_eq!(now["used"]["spend_per_day"]["amount"], "3.60");
    assert!(now["used"]["storage_gib"].as_i64().unwrap() > 0);
    // What the server shows is also what it takes.
    assert_eq!(limit(&site, now["quotas"].clone()).await["quotas"], now["quotas"]);
    assert_eq!(limit(&site, json!({})).await["quotas"], json!({ "cards": {} }));
    for odd in [json!({ "instances": -1 }), json!({ "cards": { "RTX 4090": -1 } }), json!({ "spend_per_day": "-1" })] {
        site.put(&site.operator, "/v1/accounts/alpha/quotas", odd).await.problem(422, "invalid-count");
    }
    let unknown = json!({ "cards": { "Voodoo 3": 1 } });
    site.put(&site.operator, "/v1/accounts/alpha/quotas", unknown).await.problem(422, "unknown-gpu");
    site.put(&site.alice, "/v1/accounts/alpha/quotas", json!({})).await.problem(403, "forbidden");
}

async fn each_quota_refuses_with_its_name_and_numbers(db: &Db) {
    let site = Site::new(db).await;
    rent(&site, 1).await.ok(202);
    let disk =
        site.get(&site.alice, "/v1/accounts/alpha/quotas").await.ok(200)["used"]["storage_gib"].as_i64().unwrap();
    for (quota, words) in [
        (json!({ "cards": { CARD: 1 } }), vec!["1 cards of rtx-4090", "1 used, 1 more"]),
        (json!({ "cards_total": 1 }), vec!["1 cards", "1 used, 1 more"]),
        (json!({ "instances": 1 }), vec!["1 instances", "1 used, 1 more"]),
        (json!({ "storage_gib": disk }), vec!["GiB of storage", "used"]),
        (json!({ "spend_per_day": "3.59" }), vec!["3.59 money a day", "1.80 used, 1.80 more"]),
    ] {
        limit(&site, quota).await;
        rent(&site, 1).await.says(409, "quota-exceeded", &words);
    }
    assert_eq!(site.number("SELECT COUNT(*) FROM instances").await, 1);
    assert_eq!(site.number("SELECT COUNT(*) FROM holds").await, 1);
    limit(&site, json!({ "spend_per_day": "3.60", "cards": { CARD: 2 }, "instances": 2 })).await;
    rent(&site, 1).await.ok(202);
    // Another account has quotas of its own.
    site.post(&site.bob, "/v1/instances", json!({ "gpu": CARD })).await.ok(202);
}

async fn what_stopped_needs_no_cards_and_a_start_is_judged_anew(db: &Db) {
    let site = Site::new(db).await;
    let id = site.running("job", Span::from_hours(2)).await;
    limit(&site, json!({ "cards_total": 1, "instances": 2 })).await;
    rent(&site, 1).await.problem(409, "quota-exceeded");
    site.state(&id, State::Stopped, "stopped").await;
    let second = rent(&site, 1).await.ok(202);
    let start = format!("/v1/instances/{id}/start");
    site.post(&site.alice, &start, json!({})).await.says(409, "quota-exceeded", &["1 cards", "1 used"]);
    // It is one of the two instances already: starting takes no further one.
    limit(&site, json!({ "instances": 1, "storage_gib": 1 })).await;
    site.state(&second["id"].as_str().unwrap().parse().unwrap(), State::Stopped, "stopped").await;
    let answer = site.post(&site.alice, &start, json!({})).await;
    assert!(answer.status == 202 || !answer.text().contains("quota"), "{}", answer.text());
}

/// What ran today counts, also when it has stopped since.
async fn a_day_counts_what_ran_and_what_is_set_aside(db: &Db) {
    let site = Site::new(db).await;
    let since = site.app.now();
    let day = base::time::day_start(since, "Asia/Shanghai").unwrap();
    site.running("job", Span::from_hours(30)).await;
    let spent = site.get(&site.alice, "/v1/accounts/alpha/quotas").await.ok(200)["used"]["spend_per_day"]["micros"]
        .as_i64()
        .unwrap();
    // Only the part of the thirty hours that lies in the present day, and the hour set aside.
    let hour = 1_800_000;
    let today = i64::try_from(i128::from(site.app.now().since(day).millis()) * i128::from(hour) / 3_600_000).unwrap();
    assert!((spent - hour - today).abs() < hour / 60, "{spent} {today}");
}

async fn of_many_at_once_only_as_many_as_the_quota_has_room_for(db: &Db) {
    let site = Site::new(db).await;
    for (round, quota) in [json!({ "instances": 1 }), json!({ "cards_total": 2 }), json!({ "spend_per_day": "5.40" })]
        .into_iter()
        .enumerate()
    {
        limit(&site, quota).await;
        let answers = join_all((0..8).map(|_| rent(&site, 1))).await;
        let won = answers.iter().filter(|a| a.status == 202).count();
        assert_eq!(won, 1, "round {round}");
        answers.iter().filter(|a| a.status != 202).for_each(|a| drop(a.problem(409, "quota-exceeded")));
    }
}

both!(
    quotas_are_shown_with_what_is_used,
    each_quota_refuses_with_its_name_and_numbers,
    what_stopped_needs_no_cards_and_a_start_is_judged_anew,
    a_day_counts_what_ran_and_what_is_set_aside,
    of_many_at_once_only_as_many_as_the_quota_has_room_for,
);
