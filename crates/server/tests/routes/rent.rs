//! What a rent request may ask for, and the one true reason why not.

use serde_json::{Value, json};

use crate::db::{Db, both};
use crate::site::{CARD, Site, account, fund, machine, person};

/// Instances, holds, events and idempotency keys that there are.
async fn traces(site: &Site) -> [i64; 4] {
    [
        site.number("SELECT COUNT(*) FROM instances").await,
        site.number("SELECT COUNT(*) FROM holds").await,
        site.number("SELECT COUNT(*) FROM events").await,
        site.number("SELECT COUNT(*) FROM idempotency").await,
    ]
}

/// A rent request with one thing changed.
fn with(change: Value) -> Value {
    let mut body = json!({ "gpu": CARD });
    body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    body
}

/// Refused by the quote and by the rent alike, for the same reason, leaving nothing.
async fn refused(site: &Site, change: Value, status: u16, code: &str, words: &[&str]) {
    let before = traces(site).await;
    for path in ["/v1/quotes", "/v1/instances"] {
        site.post_with_key(&site.alice, path, with(change.clone()), "key").await.says(status, code, words);
    }
    assert_eq!(traces(site).await, before, "{change}");
}

async fn a_rent_freezes_its_price_and_holds_an_hour(db: &Db) {
    let site = Site::new(db).await;
    let body = json!({ "gpu": "RTX 4090", "count": 2, "name": "train", "env": { "A": "b" }, "on_start": "true" });
    let quote = site.post(&site.alice, "/v1/quotes", body.clone()).await.ok(200);
    assert_eq!(quote["quote"]["rate"]["micros"], 3_600_000);
    assert_eq!(quote["free_now"], 4);
    assert_eq!(site.number("SELECT COUNT(*) FROM instances").await, 0);
    let made = site.post(&site.alice, "/v1/instances", body).await.ok(202);
    assert_eq!(made["rate"], quote["quote"]["rate"]);
    assert_eq!(made["price_version"], quote["quote"]["price_version"]);
    for field in ["cpus", "memory_gib", "disk_gib", "count"] {
        assert_eq!(made[field], quote["quote"][field], "{field}");
    }
    assert_eq!((made["state"].as_str(), made["desired"].as_str()), (Some("requested"), Some("running")));
    assert_eq!((made["name"].as_str(), made["gpu"].as_str()), (Some("train"), Some(CARD)));
    let balance = site.get(&site.alice, "/v1/balance").await.ok(200);
    assert_eq!(balance["held"]["micros"], quote["quote"]["hold"]["micros"]);
    assert_eq!(balance["available"]["amount"], "1000.00");
    let row = site.row(&made["id"].as_str().unwrap().parse().unwrap()).await;
    assert_eq!(row.created_by, site.alice.id);
    assert_eq!(row.env["A"], "b");
    assert!(row.due_at.is_some() && row.deadline_at.is_some());
}

async fn a_rent_without_a_name_is_called_by_its_slug(db: &Db) {
    let site = Site::new(db).await;
    let made = site.post(&site.alice, "/v1/instances", json!({ "gpu": CARD })).await.ok(202);
    assert_eq!(made["name"], made["slug"]);
}

async fn cards_that_are_not_known_or_not_here(db: &Db) {
    let site = Site::new(db).await;
    for (gpu, words) in [
        ("RTX 4091", vec!["no card is known", "RTX 4090 24G"]),
        ("", vec!["no card is known"]),
        ("a very fast toaster", vec!["suanli offers"]),
    ] {
        refused(&site, json!({ "gpu": gpu }), 422, "unknown-gpu", &words).await;
    }
    refused(&site, json!({ "gpu": "L40S" }), 409, "more-than-exist", &["this site has no L40S", "suanli offers"]).await;
}

/// A name that fits two cards means the one that the site has, if it has only one.
async fn an_ambiguous_name_is_settled_by_what_the_site_has(db: &Db) {
    let site = Site::new(db).await;
    let both = ["A100 PCIe 40G", "A100 SXM4 40G"];
    refused(&site, json!({ "gpu": "A100 40G" }), 422, "ambiguous-gpu", &both).await;
    machine(&site.app, "node-p", "container", "a100-pcie-40g", 10..12).await;
    wait_for_offer(&site, "a100-pcie-40g").await;
    let made = site.post(&site.alice, "/v1/instances", json!({ "gpu": "A100 40G" })).await.ok(202);
    assert_eq!(made["gpu"], "a100-pcie-40g");
    machine(&site.app, "node-s", "container", "a100-sxm4-40g", 20..22).await;
    wait_for_offer(&site, "a100-sxm4-40g").await;
    refused(&site, json!({ "gpu": "A100 40G" }), 422, "ambiguous-gpu", &both).await;
}

async fn wait_for_offer(site: &Site, gpu: &str) {
    for _ in 0..500 {
        if site.get(&site.alice, "/v1/offers").await.text().contains(gpu) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{gpu} never shows in the offers");
}

async fn counts_that_cannot_be(db: &Db) {
    let site = Site::new(db).await;
    machine(&site.app, "node-b", "container", CARD, 10..12).await;
    refused(&site, json!({ "count": 0 }), 422, "invalid-count", &["0 is not a number of cards", "one card"]).await;
    refused(&site, json!({ "count": -1 }), 422, "invalid-count", &["-1"]).await;
    refused(&site, json!({ "count": i64::MIN }), 422, "invalid-count", &[]).await;
    refused(&site, json!({ "count": 1_000_000 }), 409, "more-than-exist", &["1000000"]).await;
    // Six cards there are, but no machine has more than four.
    refused(&site, json!({ "count": 5 }), 409, "more-than-exist", &["largest machine has 4", "fewer"]).await;
}

async fn cards_that_are_taken(db: &Db) {
    let site = Site::new(db).await;
    for n in 0..3 {
        site.running(&format!("job-{n}"), base::Span::from_secs(60)).await;
    }
    refused(&site, json!({ "count": 2 }), 409, "no-capacity", &["1 of 4", "suanli offers"]).await;
    machine(&site.app, "node-b", "container", CARD, 10..11).await;
    refused(&site, json!({ "count": 2 }), 409, "no-capacity", &["2 × RTX 4090 24G are free", "at most 1"]).await;
    site.running("last", base::Span::from_secs(60)).await;
    let mut conn = db.store.read().await.unwrap();
    sqlx::query("UPDATE nodes SET state = 'cordoned' WHERE name = 'node-b'").execute(&mut *conn).await.unwrap();
    drop(conn);
    refused(&site, json!({}), 409, "no-capacity", &["0 of 5"]).await;
}

async fn names_that_deceive_and_names_that_do_not(db: &Db) {
    let site = Site::new(db).await;
    for name in ["", "  ", "a\nb", "a\u{7}b", "gpj\u{202e}exe", "a\u{200b}b", "\u{1b}[31mred", &"x".repeat(10_240)] {
        refused(&site, json!({ "name": name }), 422, "invalid-name", &["this name"]).await;
    }
    for name in ["👩\u{200d}🔬 run", "模型 7B-训练", "<b>bold</b>", "'; DROP TABLE instances; --"] {
        let made = site.post(&site.alice, "/v1/instances", with(json!({ "name": name }))).await.ok(202);
        assert_eq!(made["name"], name);
    }
    let made = site.post(&site.alice, "/v1/instances", with(json!({ "name": " trimmed " }))).await.ok(202);
    assert_eq!(made["name"], "trimmed");
}

async fn environments_and_commands_that_cannot_be(db: &Db) {
    let site = Site::new(db).await;
    for name in ["", "1A", "A-B", "A B", "A=B", "Ä", "A\nB"] {
        refused(&site, json!({ "env": { name: "x" } }), 422, "invalid-request", &["variable"]).await;
    }
    let many: serde_json::Map<_, _> = (0..201).map(|n| (format!("V{n}"), Value::from(""))).collect();
    refused(&site, json!({ "env": many }), 422, "invalid-request", &["at most 200 variables"]).await;
    refused(&site, json!({ "env": { "A": "x".repeat(40_000) } }), 422, "invalid-request", &["32 KiB"]).await;
    for command in ["", "  \n"] {
        refused(&site, json!({ "on_start": command }), 422, "invalid-request", &["start command is empty"]).await;
    }
    refused(&site, json!({ "on_start": "x".repeat(70_000) }), 422, "invalid-request", &["64 KiB"]).await;
    let fine = json!({ "env": { "_A1": "=\n'\"$(x)", "PATH": "" }, "on_start": "echo 'ok'\nexit 3" });
    site.post(&site.alice, "/v1/instances", with(fine)).await.ok(202);
}

async fn stop_rules(db: &Db) {
    let site = Site::new(db).await;
    for (rules, code, words) in [
        (json!({ "idle": "5" }), "invalid-request", vec!["5", "30m"]),
        (json!({ "idle": "1s" }), "invalid-request", vec!["too short"]),
        (json!({ "idle": "" }), "invalid-request", vec!["off"]),
        (json!({ "after": "0s" }), "invalid-request", vec!["running time"]),
        (json!({ "after": "-5m" }), "invalid-request", vec!["-5m"]),
        (json!({ "at": "2020-01-01T00:00:00Z" }), "invalid-request", vec!["has passed"]),
        (json!({ "at": "2020-01-01 10:00" }), "invalid-request", vec!["has passed"]),
        (json!({ "at": "25:00" }), "invalid-request", vec!["25:00"]),
        (json!({ "at": "tomorrow" }), "invalid-request", vec!["tomorrow"]),
        (json!({ "budget": "-1" }), "invalid-amount", vec!["-1"]),
        (json!({ "budget": "0" }), "invalid-amount", vec!["budget"]),
        (json!({ "budget": "lots" }), "invalid-amount", vec!["lots"]),
        (json!({ "budget": "0.0000001" }), "invalid-amount", vec!["six decimals"]),
    ] {
        refused(&site, json!({ "rules": rules }), 422, code, &words).await;
    }
    let rent = async |rules: Value| {
        let made = site.post(&site.alice, "/v1/instances", with(json!({ "rules": rules }))).await.ok(202);
        made["rules"].as_array().unwrap().iter().map(|r| r.as_str().unwrap().to_owned()).collect::<Vec<_>>().join("; ")
    };
    assert!(rent(json!({})).await.contains("stops after 2h without activity"));
    assert!(rent(json!({ "idle": "off" })).await.contains("switched off"));
    let all = rent(json!({ "idle": "30m", "after": "8h", "at": "22:00", "budget": "50" })).await;
    for word in ["30m", "8h", "22:00:00 (Asia/Shanghai)", "50.00 CNY"] {
        assert!(all.contains(word), "{word}: {all}");
    }
}

async fn sizes_that_cannot_be(db: &Db) {
    let site = Site::new(db).await;
    for (change, words) in [
        (json!({ "cpus": 0 }), vec!["CPU"]),
        (json!({ "cpus": -3 }), vec!["CPU"]),
        (json!({ "cpus": i64::MAX }), vec!["CPU"]),
        (json!({ "memory_gib": 0 }), vec!["memory"]),
        (json!({ "memory_gib": i64::MAX }), vec!["memory"]),
        (json!({ "disk_gib": 0 }), vec!["disk"]),
    ] {
        refused(&site, change, 422, "invalid-request", &words).await;
    }
    // What nobody would pay for is refused instead of given away.
    refused(&site, json!({ "disk_gib": 51 }), 422, "not-offered", &["51 GiB", "--disk"]).await;
    site.post(&site.alice, "/v1/instances", with(json!({ "disk_gib": 50 }))).await.ok(202);
    let more = site.post(&site.alice, "/v1/instances", with(json!({ "cpus": 10, "memory_gib": 33 }))).await.ok(202);
    assert_eq!(more["rate"]["micros"], 1_800_000 + 2 * 40_000 + 10_000);
}

async fn plans_and_isolation_that_are_not_offered(db: &Db) {
    let site = Site::new(db).await;
    for plan in ["spot", "month", "year"] {
        refused(&site, json!({ "plan": plan }), 422, "not-offered", &[plan, "on-demand"]).await;
    }
    refused(&site, json!({ "plan": "hourly" }), 422, "invalid-request", &["hourly", "on-demand"]).await;
    for isolation in ["vm", "node"] {
        refused(&site, json!({ "isolation": isolation }), 422, "not-offered", &[isolation, "--isolation"]).await;
    }
    refused(&site, json!({ "isolation": "jail" }), 422, "invalid-request", &["jail", "container"]).await;
    site.post(&site.alice, "/v1/instances", with(json!({ "isolation": "container" }))).await.ok(202);
    // Placement could choose the other machine, so the wish cannot be promised any more.
    machine(&site.app, "node-v", "vm", CARD, 10..14).await;
    for isolation in ["vm", "container"] {
        refused(&site, json!({ "isolation": isolation }), 422, "not-offered", &[isolation]).await;
    }
}

async fn a_card_without_a_price_is_not_rented(db: &Db) {
    let site = Site::new(db).await;
    machine(&site.app, "node-a10", "container", "a10-24g", 10..12).await;
    refused(&site, json!({ "gpu": "A10" }), 422, "no-price", &["A10"]).await;
}

/// What the balance does not cover leaves nothing behind, not even its key.
async fn a_balance_that_is_too_small(db: &Db) {
    let site = Site::new(db).await;
    let poor = person(&site.app, "poor", false).await;
    let empty = account(&site.app, "empty", &[&poor]).await;
    fund(&site.app, &empty, "1.79").await;
    let before = traces(&site).await;
    let ask = || site.post_with_key(&poor, "/v1/instances", json!({ "gpu": CARD }), "k");
    ask().await.says(409, "not-enough-funds", &["1.80", "1.79", "0.01"]);
    assert_eq!(traces(&site).await, before);
    assert_eq!(site.get(&poor, "/v1/balance").await.ok(200)["held"]["micros"], 0);
    // The quote does not ask about money: it is there to learn the price.
    site.post(&poor, "/v1/quotes", json!({ "gpu": CARD })).await.ok(200);
    fund(&site.app, &empty, "0.01").await;
    let id = ask().await.ok(202)["id"].clone();
    assert_eq!(ask().await.ok(202)["id"], id);
    site.post(&poor, "/v1/instances", json!({ "gpu": CARD })).await.says(
        409,
        "not-enough-funds",
        &["0.00 CNY is free"],
    );
}

async fn whoever_has_several_accounts_says_which(db: &Db) {
    let site = Site::new(db).await;
    let carol = person(&site.app, "carol", false).await;
    let none = site.post(&carol, "/v1/quotes", json!({ "gpu": CARD })).await;
    none.says(404, "not-found", &["you belong to no account", "--account"]);
    for name in ["gamma", "delta"] {
        let id = account(&site.app, name, &[&carol]).await;
        fund(&site.app, &id, "10").await;
    }
    let which = site.post(&carol, "/v1/instances", json!({ "gpu": CARD })).await;
    which.says(422, "ambiguous-name", &["delta, gamma", "--account"]);
    site.post(&carol, "/v1/instances", json!({ "gpu": CARD, "account": "gamma" })).await.ok(202);
    assert_eq!(site.get(&carol, "/v1/balance?account=gamma").await.ok(200)["held"]["amount"], "1.80");
    assert_eq!(site.get(&carol, "/v1/balance?account=delta").await.ok(200)["held"]["amount"], "0.00");
    assert_eq!(site.get(&carol, "/v1/instances").await.ok(200)["items"].as_array().unwrap().len(), 1);
}

both!(
    a_rent_freezes_its_price_and_holds_an_hour,
    a_rent_without_a_name_is_called_by_its_slug,
    cards_that_are_not_known_or_not_here,
    an_ambiguous_name_is_settled_by_what_the_site_has,
    counts_that_cannot_be,
    cards_that_are_taken,
    names_that_deceive_and_names_that_do_not,
    environments_and_commands_that_cannot_be,
    stop_rules,
    sizes_that_cannot_be,
    plans_and_isolation_that_are_not_offered,
    a_card_without_a_price_is_not_rented,
    a_balance_that_is_too_small,
    whoever_has_several_accounts_says_which,
);
