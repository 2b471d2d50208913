//! The same request sent twice is done once.

use futures_util::future::join_all;
use serde_json::json;

use crate::db::{Db, both};
use crate::site::{CARD, Site, account, fund, person};

async fn a_repeat_gives_the_same_instance_even_when_nothing_is_free(db: &Db) {
    let site = Site::new(db).await;
    let body = json!({ "gpu": CARD, "count": 4 });
    let first = site.post_with_key(&site.alice, "/v1/instances", body.clone(), "k-1").await.ok(202);
    site.run(&first["id"].as_str().unwrap().parse().unwrap(), base::Span::from_secs(60)).await;
    let again = site.post_with_key(&site.alice, "/v1/instances", body.clone(), "k-1").await.ok(202);
    assert_eq!((&again["id"], again["state"].as_str()), (&first["id"], Some("running")));
    // The order of the fields and defaults written out do not make it another request.
    site.post(&site.alice, "/v1/instances", body).await.problem(409, "no-capacity");
    assert_eq!(site.number("SELECT COUNT(*) FROM instances").await, 1);
}

async fn a_key_belongs_to_one_request_of_one_user(db: &Db) {
    let site = Site::new(db).await;
    let first = site.post_with_key(&site.alice, "/v1/instances", json!({ "gpu": CARD }), "k").await.ok(202);
    let other = site.post_with_key(&site.alice, "/v1/instances", json!({ "gpu": CARD, "count": 2 }), "k").await;
    other.says(409, "idempotency-mismatch", &["fresh key"]);
    let bobs = site.post_with_key(&site.bob, "/v1/instances", json!({ "gpu": CARD }), "k").await.ok(202);
    assert_ne!(bobs["id"], first["id"]);
    // Nor can the key be used at another path.
    site.post_with_key(&site.operator, "/v1/accounts", json!({ "name": "gamma" }), "o").await.ok(201);
    let elsewhere =
        site.post_with_key(&site.operator, "/v1/accounts/gamma/topups", json!({ "amount": "1" }), "o").await;
    elsewhere.problem(409, "idempotency-mismatch");
    assert_eq!(site.number("SELECT COUNT(*) FROM instances").await, 2);
}

/// Requests with one key at the same moment are one request, also when the money
/// lasts for only one.
async fn many_at_once_are_one(db: &Db) {
    let site = Site::new(db).await;
    let carol = person(&site.app, "carol", false).await;
    let just = account(&site.app, "just-enough", &[&carol]).await;
    fund(&site.app, &just, "18").await;
    for round in 0..10 {
        let key = format!("k-{round}");
        let ask = || site.post_with_key(&carol, "/v1/instances", json!({ "gpu": CARD }), &key);
        let answers = join_all((0..8).map(|_| ask())).await;
        let ids: Vec<_> = answers.iter().map(|a| a.ok(202)["id"].as_str().unwrap().to_owned()).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }
    assert_eq!(site.number("SELECT COUNT(*) FROM instances").await, 10);
    assert_eq!(site.number("SELECT COUNT(*) FROM holds").await, 10);
    let balance = site.get(&carol, "/v1/balance").await.ok(200);
    assert_eq!(balance["held"]["amount"], "18.00");
}

/// Without a key each request is one of its own, and money is promised once.
async fn money_is_not_promised_twice(db: &Db) {
    let site = Site::new(db).await;
    let carol = person(&site.app, "carol", false).await;
    let three = account(&site.app, "three", &[&carol]).await;
    fund(&site.app, &three, "5.50").await;
    let answers = join_all((0..8).map(|_| site.post(&carol, "/v1/instances", json!({ "gpu": CARD })))).await;
    assert_eq!(answers.iter().filter(|a| a.status == 202).count(), 3);
    for refused in answers.iter().filter(|a| a.status != 202) {
        refused.problem(409, "not-enough-funds");
    }
    assert_eq!(site.get(&carol, "/v1/balance").await.ok(200)["held"]["amount"], "5.40");
}

both!(
    a_repeat_gives_the_same_instance_even_when_nothing_is_free,
    a_key_belongs_to_one_request_of_one_user,
    many_at_once_are_one,
    money_is_not_promised_twice,
);
