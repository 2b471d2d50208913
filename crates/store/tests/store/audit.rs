//! The audit says nothing of right books and finds each planted difference.

use base::{Money, SegmentId};
use billing::ledger::{Book, Posting, PostingKind};
use store::lease::{self, Kind};
use store::segments::{self, Segment};
use store::{Store, allocations, audit, nodes, postings};

use crate::db::{Db, both, write};
use crate::fixture::{Site, T0, at, rent, site};
use crate::segments::open;

/// A site with an open segment, and a settled one of 30 s that is posted.
async fn clean(store: &Store) -> (Site, Segment) {
    let site = site(store, 2, "20").await;
    open(store, &site, 1, at(0)).await;
    let done = open(store, &site, 2, at(0)).await;
    let (id, node, account) = (done.instance.clone(), site.node.clone(), site.account.clone());
    write!(store, |tx, id, node| {
        segments::close(tx, &id, at(30), "by-renter", at(30)).await?;
        nodes::proven(tx, &node, at(40), "boot-1", at(40)).await
    })
    .unwrap();
    let posting = Posting {
        debit: Book::Balance(account.clone()),
        credit: Book::Revenue("device".into()),
        amount: Money::from_micros(30_000),
        kind: PostingKind::Charge,
        cause: "charge:2".into(),
        at: at(40),
        segment: Some(done.id.clone()),
        price_version: Some("v1".into()),
    };
    write!(store, |tx, posting, account| {
        let leases = lease::claim(tx, Kind::Segments, at(40), 5).await?;
        assert_eq!(leases.len(), 1);
        postings::post(tx, &posting, &account, None).await?;
        segments::settled(tx, &leases[0], posting.amount, at(30), None).await
    })
    .unwrap();
    (site, done)
}

async fn differences(store: &Store) -> Vec<String> {
    store.snapshot(|db| Box::pin(audit::run(db))).await.unwrap().differences
}

async fn change(store: &Store, sql: &'static str) {
    let mut read = store.read().await.unwrap();
    assert!(sqlx::query(sql).execute(&mut *read).await.unwrap().rows_affected() > 0, "{sql}");
}

async fn right_books_have_no_differences(db: &Db) {
    let (site, _) = clean(&db.store).await;
    let instance = rent(&db.store, &site, 9).await.id;
    let (card, other) = (site.devices[0].clone(), site.devices[1].clone());
    write!(db.store, |tx, card, other, instance| {
        assert!(allocations::take(tx, &card, &instance, 1, T0).await?);
        allocations::give_back(tx, &instance, at(1)).await?;
        assert!(allocations::take(tx, &card, &instance, 2, at(1)).await?);
        assert!(allocations::take(tx, &other, &instance, 2, at(1)).await?);
        Ok(())
    })
    .unwrap();
    let found = db.store.snapshot(|db| Box::pin(audit::run(db))).await.unwrap();
    assert_eq!(found.differences, Vec::<String>::new());
    assert_eq!((found.accounts, found.segments, found.postings), (1, 2, 2));
}

/// Plants one difference and expects the audit to name it, and nothing else.
async fn plant(db: &Db, sql: &'static str, undo: &'static str, says: &str) {
    change(&db.store, sql).await;
    let found = differences(&db.store).await;
    assert_eq!(found.len(), 1, "{sql}: {found:?}");
    assert!(found[0].contains(says), "{sql}: {found:?}");
    change(&db.store, undo).await;
    assert!(differences(&db.store).await.is_empty(), "{undo}");
}

async fn every_wrong_amount_is_found(db: &Db) {
    clean(&db.store).await;
    plant(
        db,
        "UPDATE accounts SET balance = balance + 1",
        "UPDATE accounts SET balance = balance - 1",
        "the balance is 19.970001, its book has 19.97",
    )
    .await;
    plant(
        db,
        "UPDATE segments SET posted = posted + 1 WHERE to_at IS NOT NULL",
        "UPDATE segments SET posted = posted - 1 WHERE to_at IS NOT NULL",
        "the segment says 0.030001 is posted, the ledger has 0.03",
    )
    .await;
    plant(
        db,
        "UPDATE segments SET rate = rate * 2 WHERE to_at IS NOT NULL",
        "UPDATE segments SET rate = rate / 2 WHERE to_at IS NOT NULL",
        "0.03 is posted, its time and rate make 0.06",
    )
    .await;
    plant(
        db,
        "UPDATE segments SET to_at = to_at - 10000000, due_at = 1 WHERE to_at IS NOT NULL",
        "UPDATE segments SET to_at = to_at + 10000000, due_at = NULL WHERE to_at IS NOT NULL",
        "0.03 is posted already, only 0.02 is proven",
    )
    .await;
    plant(
        db,
        "UPDATE accounts SET held = held + 5",
        "UPDATE accounts SET held = held - 5",
        "6.400005 is held, its holds add up to 6.40",
    )
    .await;
    plant(
        db,
        "UPDATE holds SET amount = amount + 1 WHERE instance_id = (SELECT MIN(instance_id) FROM holds)",
        "UPDATE holds SET amount = amount - 1 WHERE instance_id = (SELECT MIN(instance_id) FROM holds)",
        "6.40 is held, its holds add up to 6.400001",
    )
    .await;
}

async fn an_overlap_is_found(db: &Db) {
    let (_, done) = clean(&db.store).await;
    let second = Segment { id: SegmentId::new(at(29), 77), from: at(29), due_at: None, to: None, ..done.clone() };
    assert!(write!(db.store, |tx, second| segments::insert(tx, &second).await).unwrap());
    let found = differences(&db.store).await;
    assert_eq!(found, [format!("{} begins before {} of the same instance ends", second.id, done.id)]);
    change(&db.store, "UPDATE segments SET from_at = from_at + 1000000 WHERE from_at % 60000000 = 29000000").await;
    assert!(differences(&db.store).await.is_empty(), "touching is no overlap");
}

async fn two_tenants_at_once_are_found_afterwards(db: &Db) {
    let (site, done) = clean(&db.store).await;
    let other = rent(&db.store, &site, 9).await.id;
    let mut read = db.store.read().await.unwrap();
    for (id, instance, from, to) in [("a", &done.instance, 0, 20), ("b", &other, 19, 30)] {
        sqlx::query(
            "INSERT INTO allocations (id, device_id, instance_id, generation, created_at, released_at)
             VALUES ($1, $2, $3, 1, $4, $5)",
        )
        .bind(id)
        .bind(site.devices[0].as_str())
        .bind(instance.as_str())
        .bind(at(from).micros())
        .bind(at(to).micros())
        .execute(&mut *read)
        .await
        .unwrap();
    }
    drop(read);
    assert_eq!(differences(&db.store).await, [format!("{} had two tenants at once", site.devices[0])]);
    change(&db.store, "UPDATE allocations SET released_at = released_at - 1000000 WHERE id = 'a'").await;
    assert!(differences(&db.store).await.is_empty(), "one after the other is right");
}

both! {
    right_books_have_no_differences,
    every_wrong_amount_is_found,
    an_overlap_is_found,
    two_tenants_at_once_are_found_afterwards,
}
