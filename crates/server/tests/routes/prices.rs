//! Price books: checked, loaded, and without effect on what runs.

use base::Span;
use billing::book::DEMO;
use serde_json::json;

use crate::db::{Db, both};
use crate::site::{CARD, Site};

async fn a_slip_of_the_pen_names_the_nearest_key(db: &Db) {
    let site = Site::new(db).await;
    let before = site.get(&site.alice, "/v1/prices").await.ok(200);
    for (wrong, nearest) in [("on_demnd = \"1.80\"", "on_demand"), ("on_demand = \"cheap\"", "cheap")] {
        let text = DEMO.replacen("on_demand = \"1.80\"", wrong, 1);
        assert_ne!(text, DEMO);
        let found = site.post(&site.operator, "/v1/prices/lint", json!({ "text": text })).await.ok(200);
        let errors = found["errors"].as_array().unwrap();
        assert!(!errors.is_empty() && found["errors"].to_string().contains(nearest), "{found}");
        let line = text.lines().position(|l| l.contains(wrong)).unwrap() + 1;
        assert!(errors[0]["path"].as_str().unwrap().contains(&format!("line {line}")), "{found}");
        let load = site.put(&site.operator, "/v1/prices", json!({ "text": text })).await;
        load.says(422, "invalid-price-book", &[nearest]);
    }
    site.put(&site.operator, "/v1/prices", json!({ "text": "" })).await.problem(422, "invalid-price-book");
    site.put(&site.operator, "/v1/prices", json!({ "text": "[[" })).await.problem(422, "invalid-price-book");
    assert_eq!(site.get(&site.alice, "/v1/prices").await.ok(200), before);
}

async fn a_new_book_is_for_new_rents_only(db: &Db) {
    let site = Site::new(db).await;
    let id = site.running("job", Span::from_secs(60)).await;
    let before = site.row(&id).await;
    let text = DEMO.replacen("on_demand = \"1.80\"", "on_demand = \"2.75\"", 1);
    let lint = site.post(&site.operator, "/v1/prices/lint", json!({ "text": text })).await.ok(200);
    assert_eq!(lint["errors"], json!([]));
    assert_eq!(site.app.book().version, before.price_version, "a check loads nothing");
    let loaded = site.put(&site.operator, "/v1/prices", json!({ "text": text })).await.ok(200);
    assert_ne!(loaded["version"], before.price_version.as_str());
    let shown = site.get(&site.alice, "/v1/prices").await.ok(200);
    assert_eq!((&shown["version"], shown["text"].as_str()), (&loaded["version"], Some(text.as_str())));
    // At once, without waiting for the offers to be counted again.
    let offers = site.get(&site.alice, "/v1/offers").await.ok(200);
    assert_eq!(
        (&offers["price_version"], offers["offers"][0]["on_demand"]["amount"].as_str()),
        (&loaded["version"], Some("2.75"))
    );
    let quote = site.post(&site.alice, "/v1/quotes", json!({ "gpu": CARD })).await.ok(200);
    assert_eq!(quote["quote"]["rate"]["amount"], "2.75");
    assert_eq!(site.get(&site.alice, "/v1/instances/job").await.ok(200)["rate"]["amount"], "1.80");
    assert_eq!(site.row(&id).await, before);
    let new = site.post(&site.alice, "/v1/instances", json!({ "gpu": CARD })).await.ok(202);
    assert_eq!((new["rate"]["amount"].as_str(), &new["price_version"]), (Some("2.75"), &loaded["version"]));
    // A server that starts later finds the same book, also when an old one is loaded again.
    assert_eq!(server::prices::current(&db.store, site.app.now()).await.unwrap().version, loaded["version"]);
    let back = site.put(&site.operator, "/v1/prices", json!({ "text": DEMO })).await.ok(200);
    assert_eq!(back["version"], before.price_version.as_str());
    assert_eq!(server::prices::current(&db.store, site.app.now()).await.unwrap().version, before.price_version);
}

both!(a_slip_of_the_pen_names_the_nearest_key, a_new_book_is_for_new_rents_only);
