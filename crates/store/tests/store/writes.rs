//! `Store::write`: one transaction, tried again, shared on SQLite, nothing half done.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::{Cause, Error};
use futures_util::future::join_all;
use store::{accounts, prices};
use tokio::sync::Barrier;

use crate::db::{Db, both, write};
use crate::fixture::{T0, account, number, site};

/// Every third is refused, every fiftieth breaks.
fn stays(n: u128) -> bool {
    !n.is_multiple_of(3) && n % 50 != 1
}

async fn of_five_hundred_at_once_the_refused_leave_nothing(db: &Db) {
    let writes = (0..500u128).map(|n| {
        let (store, row) = (db.store.clone(), account(n, &format!("account-{n}")));
        tokio::spawn(async move {
            write!(store, |tx, row| {
                assert!(accounts::insert(tx, &row).await?);
                if n.is_multiple_of(3) {
                    return Err(Error::new(Cause::Forbidden, "not this one").into());
                }
                if n % 50 == 1 {
                    // A statement that the database refuses, in the middle of a group.
                    sqlx::query("INSERT INTO nonsense VALUES (1)").execute(&mut **tx).await?;
                }
                Ok(n)
            })
        })
    });
    let mut refused = 0;
    for (n, done) in join_all(writes).await.into_iter().enumerate() {
        let n = n as u128;
        match done.unwrap() {
            Ok(value) => assert!(value == n && stays(n)),
            Err(error) => {
                refused += 1;
                assert!(!stays(n) && matches!(error.cause(), Cause::Forbidden | Cause::Internal), "{n}: {error}");
            }
        }
    }
    let there = number(&db.store, "SELECT COUNT(*) FROM accounts").await;
    assert_eq!(there, 500 - refused);
    let mut read = db.store.read().await.unwrap();
    for n in 0..500u128 {
        let found = accounts::get(&mut read, &account(n, "").id).await.unwrap();
        assert_eq!(found.is_some(), stays(n), "{n}");
    }
}

/// Two transactions that lock two rows in opposite order: one of them is thrown
/// out by PostgreSQL and done again; SQLite has one writer and knows no deadlock.
async fn a_deadlock_is_tried_again(db: &Db) {
    let site = site(&db.store, 1, "0").await;
    write!(db.store, |tx| prices::load(tx, "v2", "text", T0).await).unwrap();
    let (tries, meet) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(2)));
    let together = db.store.dialect() == store::Dialect::Postgres;
    let both = [["v1", "v2"], ["v2", "v1"]].map(|order| {
        let (store, tries, meet) = (db.store.clone(), tries.clone(), meet.clone());
        tokio::spawn(async move {
            let first = Arc::new(AtomicUsize::new(0));
            write!(store, |tx, tries, meet, first| {
                tries.fetch_add(1, Ordering::SeqCst);
                let met = first.fetch_add(1, Ordering::SeqCst) > 0 || !together;
                for (n, version) in order.into_iter().enumerate() {
                    if n == 1 && !met {
                        meet.wait().await;
                    }
                    sqlx::query("UPDATE price_books SET loaded_at = loaded_at + 1 WHERE version = $1")
                        .bind(version)
                        .execute(&mut **tx)
                        .await?;
                }
                Ok(())
            })
        })
    });
    for done in join_all(both).await {
        done.unwrap().unwrap();
    }
    let tries = tries.load(Ordering::SeqCst);
    assert!(if together { tries >= 3 } else { tries == 2 }, "{tries} tries");
    let sum = number(&db.store, "SELECT CAST(SUM(loaded_at) AS BIGINT) FROM price_books").await;
    assert_eq!(sum, 2 * T0.micros() + 4, "each was done exactly once");
    drop(site);
}

/// A server that freezes in the middle of a transaction holds its rows for a few
/// seconds only, and does its own work when it goes on. SQLite has one process.
async fn a_transaction_that_stands_still_gives_its_rows_back(db: &Db) {
    if db.store.dialect() == store::Dialect::Sqlite {
        return;
    }
    let site = site(&db.store, 1, "0").await;
    let (frozen, awake) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let tries = Arc::new(AtomicUsize::new(0));
    let first = {
        let (store, frozen, awake, tries) = (db.store.clone(), frozen.clone(), awake.clone(), tries.clone());
        tokio::spawn(async move {
            write!(store, |tx, frozen, awake, tries| {
                sqlx::query("UPDATE price_books SET loaded_at = loaded_at + 1").execute(&mut **tx).await?;
                if tries.fetch_add(1, Ordering::SeqCst) == 0 {
                    frozen.wait().await;
                    awake.wait().await;
                }
                Ok(())
            })
        })
    };
    frozen.wait().await;
    let other = db.other().await;
    write!(other, |tx| {
        sqlx::query("UPDATE price_books SET loaded_at = loaded_at + 10").execute(&mut **tx).await?;
        Ok(())
    })
    .unwrap();
    awake.wait().await;
    first.await.unwrap().unwrap();
    assert_eq!(tries.load(Ordering::SeqCst), 2, "what was rolled back is done again");
    let sum = number(&db.store, "SELECT CAST(SUM(loaded_at) AS BIGINT) FROM price_books").await;
    assert_eq!(sum, T0.micros() + 11);
    drop(site);
}

async fn a_caller_that_goes_away_changes_nothing_for_others(db: &Db) {
    let row = account(1, "one");
    let gone = db.store.write(|tx| {
        Box::pin(async move {
            accounts::insert(tx, &account(2, "two")).await?;
            Ok(())
        })
    });
    drop(gone);
    write!(db.store, |tx, row| accounts::insert(tx, &row).await).unwrap();
    assert!(accounts::get(&mut db.store.read().await.unwrap(), &row.id).await.unwrap().is_some());
}

async fn a_write_is_announced_and_a_refusal_is_not(db: &Db) {
    let mut watch = db.store.watch();
    watch.mark_unchanged();
    let refused = write!(db.store, |_tx| Err::<(), _>(Error::new(Cause::Forbidden, "no").into()));
    assert_eq!(refused.unwrap_err().cause(), Cause::Forbidden);
    assert!(!watch.has_changed().unwrap());
    write!(db.store, |tx| prices::load(tx, "v1", "text", T0).await).unwrap();
    assert!(watch.has_changed().unwrap());
}

async fn a_snapshot_is_one_moment(db: &Db) {
    let store = db.store.clone();
    let seen = db
        .store
        .snapshot(|read| {
            Box::pin(async move {
                let before = accounts::list(&mut *read).await?.len();
                let row = account(1, "one");
                write!(store, |tx, row| accounts::insert(tx, &row).await).unwrap();
                Ok((before, accounts::list(&mut *read).await?.len()))
            })
        })
        .await
        .unwrap();
    assert_eq!(seen, (0, 0));
    assert_eq!(accounts::list(&mut db.store.read().await.unwrap()).await.unwrap().len(), 1);
}

async fn opening_again_keeps_what_is_there(db: &Db) {
    write!(db.store, |tx| prices::load(tx, "v1", "text", T0).await).unwrap();
    let again = store::open(&db.url).await.unwrap();
    assert_eq!(prices::current(&mut again.read().await.unwrap()).await.unwrap().unwrap().version, "v1");
}

#[tokio::test]
async fn an_address_that_is_not_understood_says_what_is() {
    for url in ["mysql://x", "nonsense", ""] {
        let error = store::open(url).await.err().unwrap();
        assert_eq!(error.cause(), Cause::InvalidRequest);
        assert!(error.hint_text().unwrap().contains("sqlite://"));
    }
}

both! {
    a_transaction_that_stands_still_gives_its_rows_back,
    of_five_hundred_at_once_the_refused_leave_nothing,
    a_deadlock_is_tried_again,
    a_caller_that_goes_away_changes_nothing_for_others,
    a_write_is_announced_and_a_refusal_is_not,
    a_snapshot_is_one_moment,
    opening_again_keeps_what_is_there,
}
