//! What can be rented now: counted, priced, filtered, and soon true again.

use std::time::Duration;

use serde_json::Value;

use crate::db::{Db, both};
use crate::site::{CARD, Person, Site, machine};

async fn offers(site: &Site, by: &Person, query: &str) -> Vec<Value> {
    let answer = site.get(by, &format!("/v1/offers{query}")).await.ok(200);
    answer["offers"].as_array().unwrap().clone()
}

async fn an_offer_says_all_that_a_quote_would(db: &Db) {
    let site = Site::new(db).await;
    machine(&site.app, "node-b", "container", CARD, 10..12).await;
    let found = offers(&site, &site.alice, "").await;
    assert_eq!(found.len(), 1);
    let offer = &found[0];
    for (field, want) in
        [("free", 6), ("total", 6), ("largest_free_set", 4), ("largest_set", 4), ("vram_gib", 24), ("cpus", 8)]
    {
        assert_eq!(offer[field], want, "{field}");
    }
    assert_eq!((offer["fake"].as_bool(), offer["isolation"].as_str()), (Some(true), Some("container")));
    let quote = site.post(&site.alice, "/v1/quotes", serde_json::json!({ "gpu": CARD })).await.ok(200);
    assert_eq!(offer["on_demand"], quote["quote"]["rate"]);
    for field in ["cpus", "memory_gib", "disk_gib"] {
        assert_eq!(offer[field], quote["quote"][field], "{field}");
    }
    assert_eq!(offer["demonstration_price"], quote["quote"]["demonstration"]);
    // Strangers to the account see the same stock.
    assert_eq!(offers(&site, &site.bob, "").await, found);
}

async fn filters(db: &Db) {
    let site = Site::new(db).await;
    machine(&site.app, "node-b", "container", "a100-pcie-40g", 10..18).await;
    machine(&site.app, "node-c", "container", "a10-24g", 20..21).await;
    let slugs = async |query: &str| {
        let found = offers(&site, &site.alice, query).await;
        found.iter().map(|o| o["gpu"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = slugs("").await;
    assert_eq!(all, [CARD, "a100-pcie-40g", "a10-24g"], "cheapest first, without a price last");
    for (query, want) in [
        ("?gpu=4090", &all[..1]),
        ("?gpu=A100%2040G", &all[1..2]),
        ("?count=5", &all[1..2]),
        ("?count=4", &all[..2]),
        ("?min_vram=25", &all[1..2]),
        ("?min_vram=24&max_price=1.80", &all[..1]),
        ("?max_price=1.79", &[]),
        ("?plan=on-demand", &all[..]),
        ("?gpu=L40S", &[]),
    ] {
        assert_eq!(slugs(query).await, want, "{query}");
    }
    site.get(&site.alice, "/v1/offers?gpu=RTX%204091").await.says(422, "unknown-gpu", &["RTX 4090 24G"]);
    site.get(&site.alice, "/v1/offers?plan=hourly").await.says(422, "invalid-request", &["hourly"]);
    site.get(&site.alice, "/v1/offers?max_price=cheap").await.says(422, "invalid-amount", &["cheap"]);
}

async fn stock_follows_what_is_rented(db: &Db) {
    let site = Site::new(db).await;
    assert_eq!(offers(&site, &site.alice, "").await[0]["free"], 4);
    let id = site.running("job", base::Span::from_secs(60)).await;
    for (free, lost) in [(3, false), (2, true)] {
        if lost {
            let mut conn = db.store.read().await.unwrap();
            let sql = "UPDATE devices SET state = 'lost' WHERE uuid = 'GPU-fake-3'";
            sqlx::query(sql).execute(&mut *conn).await.unwrap();
        }
        let mut tries = 0;
        while offers(&site, &site.alice, "").await[0]["free"] != free {
            tries += 1;
            assert!(tries < 500, "{free} free cards never show while {id} runs");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    assert_eq!(offers(&site, &site.alice, "").await[0]["total"], 3);
}

async fn the_catalogue_names_its_sources(db: &Db) {
    let site = Site::new(db).await;
    let gpus = site.get(&site.alice, "/v1/gpus").await.ok(200);
    let gpus = gpus.as_array().unwrap();
    assert_eq!(gpus.len(), site.app.catalogue.models().len());
    assert!(gpus.iter().all(|g| g["source"].as_str().is_some_and(|s| !s.is_empty())));
}

async fn the_operator_sees_who_holds_which_card(db: &Db) {
    let site = Site::new(db).await;
    let id = site.running("job", base::Span::from_secs(60)).await;
    let nodes = site.get(&site.operator, "/v1/nodes").await.ok(200);
    let node = &nodes["nodes"][0];
    assert_eq!((node["name"].as_str(), node["fake"].as_bool()), (Some("node-a"), Some(true)));
    let holders: Vec<_> = node["devices"].as_array().unwrap().iter().map(|d| d["held_by"].as_str()).collect();
    assert_eq!(holders, [Some(site.row(&id).await.slug.as_str()), None, None, None]);
}

both!(
    an_offer_says_all_that_a_quote_would,
    filters,
    stock_follows_what_is_rented,
    the_catalogue_names_its_sources,
    the_operator_sees_who_holds_which_card,
);
