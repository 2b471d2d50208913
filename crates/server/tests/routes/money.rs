//! Top-ups, balances and bills.

use base::Span;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::db::{Db, both};
use crate::site::{CARD, Site};

async fn top_up(site: &Site, body: Value) -> Answer {
    site.post(&site.operator, "/v1/accounts/alpha/topups", body).await
}

async fn amounts_that_add_nothing_or_are_none(db: &Db) {
    let site = Site::new(db).await;
    for (amount, words) in [
        ("0", vec!["adds nothing", "more than zero"]),
        ("0.000000", vec!["adds nothing"]),
        ("-1", vec!["-1.00", "adds nothing"]),
        ("NaN", vec!["NaN"]),
        ("Infinity", vec!["Infinity"]),
        ("1e3", vec!["1e3"]),
        ("1,000", vec!["1,000"]),
        ("¥5", vec!["currency sign"]),
        ("", vec!["is not an amount"]),
        (" 1", vec!["is not an amount"]),
        ("+1", vec!["is not an amount"]),
        ("0.0000001", vec!["six decimals"]),
        ("9223372036854.775808", vec![]),
        ("99999999999999999999", vec![]),
        ("9223372036854.775807", vec!["at most 1000000000.00"]),
        ("1000000000.000001", vec!["at most 1000000000.00"]),
    ] {
        top_up(&site, json!({ "amount": amount })).await.says(422, "invalid-amount", &words);
    }
    for amount in [json!(5), json!(1.5), json!(null), json!({ "micros": 1 })] {
        top_up(&site, json!({ "amount": amount })).await.says(422, "invalid-request", &["amount"]);
    }
    top_up(&site, json!({ "amount": "1", "currency": "USD" })).await.says(422, "invalid-request", &["currency"]);
    top_up(&site, json!({})).await.says(422, "invalid-request", &["amount"]);
    assert_eq!(site.number("SELECT COUNT(*) FROM postings").await, 2, "only those of the site itself");
    assert_eq!(site.number("SELECT COUNT(*) FROM events").await, 0);
}

async fn the_smallest_and_the_largest_arrive_whole(db: &Db) {
    let site = Site::new(db).await;
    let done = top_up(&site, json!({ "amount": "0.000001", "note": "счёт № 7" })).await.ok(201);
    assert_eq!((done["amount"]["micros"].as_i64(), done["balance"]["amount"].as_str()), (Some(1), Some("1000.000001")));
    assert!(done["posting"].as_str().unwrap().starts_with("pst-"));
    let done = top_up(&site, json!({ "amount": "1000000000" })).await.ok(201);
    assert_eq!(done["balance"]["amount"], "1000001000.000001");
    assert_eq!(site.get(&site.alice, "/v1/balance").await.ok(200)["posted"], done["balance"]);
    let audit = site.get(&site.operator, "/v1/audit").await.ok(200);
    assert_eq!(audit["differences"], json!([]));
}

/// A balance that cannot be counted any more is refused before it is written.
async fn a_balance_at_the_end_of_what_can_be_counted(db: &Db) {
    let site = Site::new(db).await;
    let mut conn = db.store.read().await.unwrap();
    let full = i64::MAX - 5;
    let sql = "UPDATE accounts SET balance = $1 WHERE name = 'alpha'";
    sqlx::query(sql).bind(full).execute(&mut *conn).await.unwrap();
    drop(conn);
    let key =
        |key| site.post_with_key(&site.operator, "/v1/accounts/alpha/topups", json!({ "amount": "0.000006" }), key);
    key("k").await.problem(422, "invalid-amount");
    assert_eq!(site.get(&site.alice, "/v1/balance").await.ok(200)["posted"]["micros"], full);
    top_up(&site, json!({ "amount": "0.000005" })).await.ok(201);
}

async fn a_repeated_top_up_is_posted_once(db: &Db) {
    let site = Site::new(db).await;
    let ask = |amount: &str| {
        let body = json!({ "amount": amount, "note": "transfer 17" });
        site.post_with_key(&site.operator, "/v1/accounts/alpha/topups", body, "transfer-17")
    };
    let answers = futures_util::future::join_all((0..8).map(|_| ask("12.50"))).await;
    let first = answers[0].ok(201)["posting"].clone();
    for answer in answers {
        let done = answer.ok(201);
        assert_eq!((&done["posting"], done["balance"]["amount"].as_str()), (&first, Some("1012.50")));
    }
    ask("12.51").await.problem(409, "idempotency-mismatch");
    assert_eq!(site.number("SELECT COUNT(*) FROM postings").await, 3);
    assert_eq!(site.number("SELECT COUNT(*) FROM events WHERE kind = 'topped-up'").await, 1);
}

async fn top_ups_of_accounts_that_do_not_exist(db: &Db) {
    let site = Site::new(db).await;
    for account in ["nobody", "acc-00000000000000000000000000", "%00"] {
        let path = format!("/v1/accounts/{account}/topups");
        site.post(&site.operator, &path, json!({ "amount": "1" })).await.problem(404, "not-found");
    }
    let by_id = format!("/v1/accounts/{}/topups", site.alpha);
    site.post(&site.operator, &by_id, json!({ "amount": "1" })).await.ok(201);
}

async fn a_balance_says_what_runs_and_when_it_ends(db: &Db) {
    let site = Site::new(db).await;
    let quiet = site.get(&site.alice, "/v1/balance").await.ok(200);
    assert_eq!((quiet["available"]["amount"].as_str(), quiet["burn"]["micros"].as_i64()), (Some("1000.00"), Some(0)));
    assert!(quiet.get("money_ends_at").is_none());
    site.running("job", Span::from_hours(1)).await;
    let busy = site.get(&site.alice, "/v1/balance").await.ok(200);
    assert_eq!(busy["burn"]["amount"], "1.80");
    assert_eq!(busy["held"]["amount"], "1.80");
    assert_eq!(busy["posted"]["amount"], "1000.00");
    let used = busy["unposted"]["micros"].as_i64().unwrap();
    assert!((1_800_000..1_900_000).contains(&used), "{used}");
    assert_eq!(busy["available"]["micros"].as_i64().unwrap() + used, 1_000_000_000);
    assert!(busy["money_ends_at"].is_string());
    // The quote tells the same balance, and an earlier end with one more card.
    let quote = site.post(&site.alice, "/v1/quotes", json!({ "gpu": CARD })).await.ok(200);
    assert_eq!(quote["held"], busy["held"]);
    assert!(quote["money_ends_at"].as_str() < busy["money_ends_at"].as_str());
}

async fn months_that_do_not_exist(db: &Db) {
    let site = Site::new(db).await;
    for month in [
        "2026-13",
        "2026-00",
        "2026-3",
        "2026-003",
        "%2B026-03",
        "-026-03",
        "2026",
        "march",
        "",
        "2026-03-01",
        "２０２６-03",
    ] {
        let month = month.replace('２', "%EF%BC%92").replace('０', "%EF%BC%90").replace('６', "%EF%BC%96");
        let answer = site.get(&site.alice, &format!("/v1/bill?month={month}")).await;
        answer.says(422, "invalid-request", &["is not a month", "YYYY-MM"]);
    }
    site.get(&site.alice, "/v1/bill?month=9999-12").await.problem(422, "invalid-request");
}

async fn a_month_without_anything_has_an_empty_bill(db: &Db) {
    let site = Site::new(db).await;
    let bill = site.get(&site.alice, "/v1/bill?month=2020-02").await.ok(200);
    assert_eq!((bill["month"].as_str(), bill["currency"].as_str()), (Some("2020-02"), Some("CNY")));
    assert_eq!(bill["account"], site.alpha.as_str());
    for list in ["groups", "entries"] {
        assert_eq!(bill[list], json!([]), "{list}");
    }
}

/// A month begins and ends at midnight of the account's own zone.
async fn a_bill_is_of_a_month_in_the_accounts_zone(db: &Db) {
    let site = Site::new(db).await;
    let mut conn = db.store.read().await.unwrap();
    // 2026-03-01 00:30 in Shanghai is still February in UTC.
    let at: base::Timestamp = "2026-02-28T16:30:00Z".parse().unwrap();
    let sql = "UPDATE postings SET at = $1";
    sqlx::query(sql).bind(at.micros()).execute(&mut *conn).await.unwrap();
    drop(conn);
    let entries = async |by: &crate::site::Person, month: &str| {
        let bill = site.get(by, &format!("/v1/bill?month={month}")).await.ok(200);
        bill["entries"].as_array().unwrap().len()
    };
    assert_eq!((entries(&site.alice, "2026-02").await, entries(&site.alice, "2026-03").await), (0, 1));
    let mut conn = db.store.read().await.unwrap();
    sqlx::query("UPDATE accounts SET time_zone = 'America/New_York' WHERE name = 'beta'")
        .execute(&mut *conn)
        .await
        .unwrap();
    drop(conn);
    assert_eq!((entries(&site.bob, "2026-02").await, entries(&site.bob, "2026-03").await), (1, 0));
}

async fn the_present_bill_shows_what_runs(db: &Db) {
    let site = Site::new(db).await;
    let id = site.running("job", Span::from_secs(60)).await;
    let bill = site.get(&site.alice, "/v1/bill").await.ok(200);
    let as_of: base::Timestamp = bill["as_of"].as_str().unwrap().parse().unwrap();
    assert_eq!(bill["month"], as_of.in_zone("Asia/Shanghai").unwrap()[..7]);
    let shown = bill["groups"].as_array().unwrap();
    assert_eq!((shown.len(), shown[0]["instance"].as_str()), (1, Some(id.as_str())), "{bill}");
    assert_eq!((shown[0]["name"].as_str(), shown[0]["fake"].as_bool()), (Some("job"), Some(true)), "{bill}");
    let bobs = site.get(&site.bob, "/v1/bill").await;
    assert!(!bobs.text().contains(id.as_str()));
}

both!(
    amounts_that_add_nothing_or_are_none,
    the_smallest_and_the_largest_arrive_whole,
    a_balance_at_the_end_of_what_can_be_counted,
    a_repeated_top_up_is_posted_once,
    top_ups_of_accounts_that_do_not_exist,
    a_balance_says_what_runs_and_when_it_ends,
    months_that_do_not_exist,
    a_month_without_anything_has_an_empty_bill,
    a_bill_is_of_a_month_in_the_accounts_zone,
    the_present_bill_shows_what_runs,
);
