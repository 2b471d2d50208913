//! Postings: each cause once, the balance with them, all books zero.

use base::{Cause, Money};
use billing::ledger::{Book, Posting, PostingKind};
use futures_util::future::join_all;
use store::{accounts, postings};

use crate::db::{Db, both, write};
use crate::fixture::{T0, at, number, site, top_up};
use crate::segments::open;

fn charge(segment: &store::segments::Segment, cause: &str, micros: i64) -> Posting {
    Posting {
        debit: Book::Balance(segment.account.clone()),
        credit: Book::Revenue("device".into()),
        amount: Money::from_micros(micros),
        kind: PostingKind::Charge,
        cause: cause.into(),
        at: at(10),
        segment: Some(segment.id.clone()),
        price_version: Some("v1".into()),
    }
}

async fn a_cause_is_posted_once_however_often_and_at_once(db: &Db) {
    let site = site(&db.store, 1, "0").await;
    let other = db.other().await;
    let all = (0..30).map(|n| {
        let (store, account) = (if n % 2 == 0 { db.store.clone() } else { other.clone() }, site.account.clone());
        tokio::spawn(async move { top_up(&store, &account, "5".parse().unwrap(), "one").await })
    });
    let news = join_all(all).await.into_iter().filter(|r| *r.as_ref().unwrap()).count();
    assert_eq!(news, 1);
    assert_eq!(number(&db.store, "SELECT balance FROM accounts").await, 5_000_000);
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM postings").await, 1);
}

async fn books_add_up_to_zero_and_the_balance_follows(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let segment = open(&db.store, &site, 1, T0).await;
    let (first, account) = (charge(&segment, "charge:1", 1_500_000), site.account.clone());
    for want in [true, false] {
        let posted = write!(db.store, |tx, first, account| postings::post(tx, &first, &account, None).await).unwrap();
        assert_eq!(posted.is_some(), want);
    }
    let mut read = db.store.read().await.unwrap();
    let account = accounts::get(&mut read, &site.account).await.unwrap().unwrap();
    assert_eq!(account.balance.to_string(), "8.50");
    let books = postings::books(&mut read).await.unwrap();
    assert_eq!(books.len(), 3);
    assert_eq!(Money::sum(books.iter().map(|(_, m)| *m)).unwrap(), Money::ZERO);
    assert!(books.contains(&("revenue:device".into(), Money::from_micros(1_500_000))), "{books:?}");
    let listed = postings::of_account(&mut read, &site.account, T0, at(10)).await.unwrap();
    assert_eq!(listed.len(), 1, "the end is not within");
    let listed = postings::of_account(&mut read, &site.account, T0, at(11)).await.unwrap();
    assert_eq!(listed[1], first);
    let sum = postings::sum_for_segment_between(&mut read, &segment.id, T0, at(11)).await.unwrap();
    assert_eq!(sum.micros(), 1_500_000);
    let none = postings::sum_for_segment_between(&mut read, &segment.id, at(11), at(12)).await.unwrap();
    assert_eq!(none, Money::ZERO);
}

async fn what_is_no_posting_is_refused_and_moves_nothing(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let segment = open(&db.store, &site, 1, T0).await;
    let good = charge(&segment, "charge:1", 1);
    let account = site.account.clone();
    for (bad, cause) in [
        (Posting { amount: Money::ZERO, ..good.clone() }, Cause::InvalidAmount),
        (Posting { credit: good.debit.clone(), ..good.clone() }, Cause::Internal),
        (Posting { cause: " ".into(), ..good.clone() }, Cause::Internal),
        (Posting { segment: None, ..good.clone() }, Cause::Internal),
    ] {
        let refused = write!(db.store, |tx, bad, account| postings::post(tx, &bad, &account, None).await);
        assert_eq!(refused.unwrap_err().cause(), cause);
    }
    assert_eq!(number(&db.store, "SELECT balance FROM accounts").await, 10_000_000);
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM postings").await, 1);
}

both! {
    a_cause_is_posted_once_however_often_and_at_once,
    books_add_up_to_zero_and_the_balance_follows,
    what_is_no_posting_is_refused_and_moves_nothing,
}
