//! Lists in pages, while what they list changes.

use std::collections::BTreeSet;

use serde_json::json;

use crate::answer::Answer;
use crate::db::{Db, both};
use crate::site::{CARD, Site, account, fund, person};

fn ids(answer: &Answer) -> (Vec<String>, Option<String>) {
    let page = answer.ok(200);
    let ids = page["items"].as_array().unwrap().iter().map(|i| i["id"].as_str().unwrap().to_owned()).collect();
    (ids, page["next_cursor"].as_str().map(str::to_owned))
}

/// What was there at the beginning is seen once each, newest first, whatever is added meanwhile.
async fn pages_hold_everything_once(db: &Db) {
    let site = Site::new(db).await;
    let carol = person(&site.app, "carol", false).await;
    for name in ["gamma", "delta"] {
        let id = account(&site.app, name, &[&carol]).await;
        fund(&site.app, &id, "1000").await;
    }
    let rent = async |account: &str| {
        let made = site.post(&carol, "/v1/instances", json!({ "gpu": CARD, "account": account })).await.ok(202);
        made["id"].as_str().unwrap().to_owned()
    };
    let mut there = BTreeSet::new();
    for n in 0..23 {
        there.insert(rent(if n % 3 == 0 { "gamma" } else { "delta" }).await);
    }
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let path = match &cursor {
            Some(cursor) => format!("/v1/instances?limit=4&cursor={cursor}"),
            None => "/v1/instances?limit=4".to_owned(),
        };
        let (page, next) = ids(&site.get(&carol, &path).await);
        assert!(page.len() == 4 || next.is_none());
        seen.extend(page);
        rent("gamma").await;
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    assert!(seen.is_sorted_by(|a, b| a > b), "newest first, none twice");
    assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), there);
}

async fn the_last_page_says_that_it_is_the_last(db: &Db) {
    let site = Site::new(db).await;
    for n in 0..3 {
        site.rented(&format!("job-{n}")).await;
    }
    for (limit, more) in [(2, true), (3, false), (4, false)] {
        let (page, next) = ids(&site.get(&site.alice, &format!("/v1/instances?limit={limit}")).await);
        assert_eq!((page.len(), next.is_some()), (limit.min(3), more), "{limit}");
    }
    for limit in ["0", "-1", "201", "9223372036854775807"] {
        let answer = site.get(&site.alice, &format!("/v1/instances?limit={limit}")).await;
        answer.says(422, "invalid-request", &["1 to 200"]);
    }
    site.get(&site.alice, "/v1/instances?cursor=x").await.says(422, "invalid-request", &["ins-"]);
}

async fn released_ones_are_listed_only_when_asked_for(db: &Db) {
    let site = Site::new(db).await;
    let old = site.rented("old").await;
    let new = site.rented("new").await;
    site.state(&old, domain::instance::State::Released, "released").await;
    assert_eq!(ids(&site.get(&site.alice, "/v1/instances").await).0, [new.as_str()]);
    assert_eq!(ids(&site.get(&site.alice, "/v1/instances?all=true").await).0, [new.as_str(), old.as_str()]);
}

async fn an_instances_events_come_in_pages(db: &Db) {
    let site = Site::new(db).await;
    let id = site.rented("job").await;
    let (subject, account, now) = (id.to_string(), site.alpha.clone(), site.app.now());
    crate::db::write!(db.store, |tx, subject, account| {
        for n in 0..420 {
            let data = json!({ "n": n });
            store::events::record(tx, now, Some(&account), &subject, "happened", "it happened", &data).await?;
        }
        store::events::sequence(tx).await
    })
    .unwrap();
    let (mut seen, mut after) = (Vec::new(), "0".to_owned());
    loop {
        let page = site.get(&site.alice, &format!("/v1/instances/job/events?after={after}")).await.ok(200);
        let items = page["items"].as_array().unwrap();
        seen.extend(items.iter().map(|e| e["seq"].as_i64().unwrap()));
        assert!(items.iter().all(|e| e["subject"] == id.as_str()));
        match page["next_cursor"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(seen.len(), 421);
    assert!(seen.is_sorted_by(|a, b| a < b));
}

both!(
    pages_hold_everything_once,
    the_last_page_says_that_it_is_the_last,
    released_ones_are_listed_only_when_asked_for,
    an_instances_events_come_in_pages,
);
