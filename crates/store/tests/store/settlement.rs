//! Settling many segments in one transaction.

use base::{AccountId, Money, SegmentId, Timestamp};
use billing::ledger::{Book, Posting, PostingKind};
use store::lease::{self, Kind};
use store::segments::{self, Segment};
use store::settlement::{self, Settled};
use store::{Store, accounts, postings};

use crate::db::{Db, both, write};
use crate::fixture::{Site, T0, account, at, number, site};
use crate::segments::open;

/// Closed segments of one instance, due one second after the other from 100 on.
async fn closed(store: &Store, site: &Site, count: i64) -> Vec<Segment> {
    let first = open(store, site, 1, at(0)).await;
    let id = first.instance.clone();
    write!(store, |tx, id| segments::close(tx, &id, at(1), "by-renter", at(100)).await).unwrap();
    let mut all = vec![Segment { to: Some(at(1)), due_at: Some(at(100)), ..first }];
    for n in 1..count {
        let id = SegmentId::new(at(n), 1_000 + n.unsigned_abs() as u128);
        let next = Segment { id, from: at(n), to: Some(at(n + 1)), due_at: Some(at(100 + n)), ..all[0].clone() };
        assert!(write!(store, |tx, next| segments::insert(tx, &next).await).unwrap());
        all.push(next);
    }
    all
}

fn charge(s: &Segment, payer: &AccountId) -> (AccountId, Posting) {
    let posting = Posting {
        debit: Book::Balance(payer.clone()),
        credit: Book::Revenue("device".into()),
        amount: Money::from_micros(1_000),
        kind: PostingKind::Charge,
        cause: format!("charge:{}", s.id),
        at: at(200),
        segment: Some(s.id.clone()),
        price_version: Some("v1".into()),
    };
    (payer.clone(), posting)
}

fn whole(s: &Segment) -> Settled {
    Settled { id: s.id.clone(), posted: Money::from_micros(1_000), until: s.to.unwrap(), due_at: None }
}

async fn waiting(store: &Store, now: Timestamp) -> Vec<SegmentId> {
    let found = write!(store, |tx| settlement::waiting(tx, now).await).unwrap();
    found.into_iter().map(|w| w.segment.id).collect()
}

async fn what_is_due_and_free_waits_longest_first(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let all = closed(&db.store, &site, 4).await;
    let ids: Vec<_> = all.iter().map(|s| s.id.clone()).collect();
    assert_eq!(waiting(&db.store, at(99)).await, []);
    assert_eq!(waiting(&db.store, at(102)).await, ids[..3]);
    // Whoever leased the first one has it to himself.
    let leases = write!(db.store, |tx| lease::claim(tx, Kind::Segments, at(102), 1).await).unwrap();
    assert_eq!(leases[0].id, ids[0].to_string());
    assert_eq!(waiting(&db.store, at(102)).await, ids[1..3]);
}

async fn no_more_than_a_transaction_takes(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    closed(&db.store, &site, i64::try_from(settlement::MOST).unwrap() + 2).await;
    assert_eq!(waiting(&db.store, at(10_000)).await.len(), settlement::MOST);
}

async fn charges_reach_ledger_balances_and_segments(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let all = closed(&db.store, &site, 3).await;
    let other = account(2, "other");
    let id = other.id.clone();
    assert!(write!(db.store, |tx, other| accounts::insert(tx, &other).await).unwrap());
    let charges = vec![charge(&all[0], &site.account), charge(&all[1], &id), charge(&all[2], &site.account)];
    let again = Settled { due_at: Some(at(300)), ..whole(&all[2]) };
    let settled = vec![whole(&all[0]), whole(&all[1]), again];
    write!(db.store, |tx, charges, settled| settlement::write(tx, &charges, &settled, at(200)).await).unwrap();
    let mut read = db.store.read().await.unwrap();
    let (first, second) = (&site.account, &id);
    let balance = async |db: &mut sqlx::AnyConnection, id| accounts::get(db, id).await.unwrap().unwrap();
    let (first, second) = (balance(&mut read, first).await, balance(&mut read, second).await);
    assert_eq!((first.balance.micros(), first.due_at), (10_000_000 - 2_000, Some(at(200))));
    assert_eq!((second.balance.micros(), second.due_at), (-1_000, Some(at(200))));
    let entered = postings::of_account(&mut read, &id, T0, at(1_000)).await.unwrap();
    assert_eq!(entered, [charges[1].1.clone()]);
    let now: Vec<_> = segments::of_instance(&mut read, &all[0].instance).await.unwrap();
    let now: Vec<_> = now.iter().map(|s| (s.posted.micros(), s.due_at)).collect();
    assert_eq!(now, [(1_000, None), (1_000, None), (1_000, Some(at(300)))]);
    drop(read);
    assert_eq!(number(&db.store, "SELECT posted_to FROM segments ORDER BY from_at LIMIT 1").await, at(1).micros());
    assert_eq!(waiting(&db.store, at(299)).await, []);
    assert_eq!(waiting(&db.store, at(300)).await, [all[2].id.clone()]);
}

async fn a_charge_that_was_posted_before_undoes_all(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let all = closed(&db.store, &site, 2).await;
    let first = (vec![charge(&all[0], &site.account)], vec![whole(&all[0])]);
    write!(db.store, |tx, first| settlement::write(tx, &first.0, &first.1, at(200)).await).unwrap();
    let both: Vec<_> = all.iter().map(|s| charge(s, &site.account)).collect();
    let settled: Vec<_> = all.iter().map(whole).collect();
    assert!(write!(db.store, |tx, both, settled| settlement::write(tx, &both, &settled, at(201)).await).is_err());
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM postings WHERE kind = 'charge'").await, 1);
    assert_eq!(waiting(&db.store, at(300)).await, [all[1].id.clone()]);
}

both! {
    what_is_due_and_free_waits_longest_first,
    no_more_than_a_transaction_takes,
    charges_reach_ledger_balances_and_segments,
    a_charge_that_was_posted_before_undoes_all,
}
