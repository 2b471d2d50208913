//! Older and newer servers on one database: migrations expand, then contract.

use std::collections::BTreeMap;

use base::{AccountId, Cause, Money, Timestamp};
use sqlx::{AnyConnection, Connection};
use store::{Store, accounts, audit, instances, intents, nodes, postings, segments};

use crate::backup::{Empty, dump};
use crate::db::{Db, both, write};
use crate::fixture::{T0, at, by_renter, number, rent, site};
use crate::segments::open;

const SITE: &str = include_str!("schema-0001/site.sql");

async fn load(url: &str) {
    let mut raw =
        AnyConnection::connect(&if url.starts_with("sqlite") { format!("{url}?mode=rwc") } else { url.into() })
            .await
            .unwrap();
    let noted = match url.starts_with("sqlite") {
        true => include_str!("schema-0001/sqlite.sql"),
        false => include_str!("schema-0001/postgres.sql"),
    };
    sqlx::raw_sql(SITE).execute(&mut raw).await.unwrap();
    sqlx::raw_sql(noted).execute(&mut raw).await.unwrap();
    raw.close().await.unwrap();
}

async fn a_site_of_schema_0001_keeps_its_books(db: &Db) {
    let place = Empty::like(db).await;
    load(&place.url).await;
    let store = store::open(&place.url).await.unwrap();
    let mut wanted: BTreeMap<String, i64> = BTreeMap::new();
    for line in SITE.lines().filter_map(|l| l.strip_prefix("INSERT INTO ")) {
        *wanted.entry(line.split(' ').next().unwrap().to_owned()).or_default() += 1;
    }
    let mut found: BTreeMap<String, i64> = BTreeMap::new();
    let mut table = String::new();
    for line in dump(&store).await.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
        match serde_json::from_slice::<serde_json::Value>(line).unwrap() {
            serde_json::Value::Object(head) => table = head.get("table").and_then(|t| t.as_str()).unwrap_or("").into(),
            _ => *found.entry(table.clone()).or_default() += 1,
        }
    }
    assert_eq!(found, wanted);
    let report = store.snapshot(|c| Box::pin(audit::run(c))).await.unwrap();
    assert_eq!((report.differences, report.segments, report.postings), (vec![], 3, 2));
    let mut read = store.read().await.unwrap();
    let all = accounts::list(&mut read).await.unwrap();
    assert_eq!((all[0].balance, all[0].held), ("999999.70".parse::<Money>().unwrap(), "6".parse::<Money>().unwrap()));
    let (from, to) = (Timestamp::EPOCH, Timestamp::from_micros(i64::MAX));
    let posted = postings::of_account(&mut read, &all[0].id, from, to).await.unwrap();
    assert_eq!(posted[1].amount, "0.30".parse::<Money>().unwrap());
    let times = segments::of_account(&mut read, &all[0].id, from, to).await.unwrap();
    assert_eq!(times.iter().filter(|s| s.to.is_none()).count(), 1);
    let open = times.iter().find(|s| s.to.is_none()).unwrap();
    let running = instances::get(&mut read, &open.instance).await.unwrap().unwrap();
    assert_eq!(running.on_start.as_deref(), Some("python train.py"));
    drop(read);
    let (id, reason) = (running.id, by_renter());
    write!(store, |tx, id, reason| intents::stop(tx, &id, &reason, at(9_999)).await).unwrap();
    place.end().await;
}

/// What a server does with a database, all kinds of statements once.
async fn lives(store: &Store, account: &AccountId, seen: &crate::fixture::Site, n: u128) {
    let id = rent(store, seen, n).await.id;
    let mut read = store.read().await.unwrap();
    assert_eq!(instances::get(&mut read, &id).await.unwrap().unwrap().env["A"], "b");
    assert!(accounts::get(&mut read, account).await.unwrap().is_some());
    assert!(!nodes::list(&mut read).await.unwrap().is_empty());
    assert!(!instances::list(&mut read, account, None, true, None, 9).await.unwrap().is_empty());
    postings::of_account(&mut read, account, T0, at(9)).await.unwrap();
    store::incidents::list(&mut read, 9).await.unwrap();
    segments::unsettled_on(&mut read, &seen.node).await.unwrap();
    drop(read);
    let reason = by_renter();
    write!(store, |tx, id, reason| {
        store::events::sequence(tx).await?;
        intents::stop(tx, &id, &reason, at(5)).await
    })
    .unwrap();
    let mut read = store.read().await.unwrap();
    let found = store::events::after(&mut read, &store::events::Audience::Operator, None, 0, 1_000);
    assert!(!found.await.unwrap().is_empty());
}

async fn an_older_server_goes_on_beside_a_newer_one(db: &Db) {
    let seen = site(&db.store, 2, "1000").await;
    open(&db.store, &seen, 1, at(0)).await;
    // So often that every connection of its pool has prepared its statements.
    for n in 2..6 {
        lives(&db.store, &seen.account, &seen, n).await;
    }
    let mut raw = AnyConnection::connect(&db.url).await.unwrap();
    for sql in [
        "ALTER TABLE instances ADD COLUMN later TEXT",
        "ALTER TABLE segments ADD COLUMN later BIGINT NOT NULL DEFAULT 7",
        "ALTER TABLE accounts ADD COLUMN later TEXT",
        "ALTER TABLE nodes ADD COLUMN later TEXT",
        "ALTER TABLE postings ADD COLUMN later TEXT",
        "ALTER TABLE events ADD COLUMN later TEXT",
        "ALTER TABLE incidents ADD COLUMN later TEXT",
        "CREATE TABLE later (id TEXT PRIMARY KEY)",
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         SELECT 9999, 'later', success, checksum, 1 FROM _sqlx_migrations WHERE version = 1",
    ] {
        sqlx::raw_sql(sql).execute(&mut raw).await.unwrap();
    }
    raw.close().await.unwrap();
    for n in 6..10 {
        lives(&db.store, &seen.account, &seen, n).await;
    }
    // Started anew while the newer schema is there, and beside the first.
    let again = store::open(&db.url).await.unwrap();
    for n in (10..20).step_by(2) {
        lives(&again, &seen.account, &seen, n).await;
        lives(&db.store, &seen.account, &seen, n + 1).await;
    }
    assert_eq!(number(&again, "SELECT COUNT(*) FROM segments WHERE later = 7").await, 1);
    let report = again.snapshot(|c| Box::pin(audit::run(c))).await.unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
}

async fn a_database_that_needs_a_newer_server_says_so(db: &Db) {
    for (needed, fine) in [("0.0.9", true), ("0.1.0", true), ("0.1.1", false), ("0.10.0", false)] {
        db.store.write(move |tx| Box::pin(store::site::set(tx, store::schema::MIN_SERVER, needed))).await.unwrap();
        match store::open(&db.url).await {
            Ok(_) => assert!(fine, "{needed}"),
            Err(error) => {
                assert!(!fine, "{needed}: {error}");
                assert_eq!(error.cause(), Cause::HostIncomplete);
                assert!(error.message().contains(needed), "{error}");
            }
        }
    }
}

/// A migration that has run somewhere never changes: its server would refuse to start.
#[tokio::test]
async fn applied_migrations_are_frozen() {
    let db = Db::sqlite().await;
    let place = Empty::like(&db).await;
    load(&place.url).await;
    let mut raw = AnyConnection::connect(&place.url).await.unwrap();
    sqlx::raw_sql("UPDATE _sqlx_migrations SET checksum = x'00'").execute(&mut raw).await.unwrap();
    raw.close().await.unwrap();
    let error = store::open(&place.url).await.err().unwrap();
    assert_eq!(error.cause(), Cause::HostIncomplete, "{error}");
}

both!(
    a_site_of_schema_0001_keeps_its_books,
    an_older_server_goes_on_beside_a_newer_one,
    a_database_that_needs_a_newer_server_says_so,
);

/// What a statement returns is prepared once a connection: with `*` it would change
/// under a running server when a newer one adds a column.
#[test]
fn statements_name_their_columns() {
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    let mut looked = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for words in ["SELECT *", "RETURNING *", ".*,"] {
                assert!(!text.contains(words), "{words} in {}", path.display());
            }
            looked += 1;
        }
    }
    assert!(looked > 20, "{looked} files");
}
