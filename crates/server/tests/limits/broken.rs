//! A write that breaks, among others.

use base::Cause;
use futures_util::FutureExt;

use crate::db::{Db, both, write};
use crate::site::Site;

/// On SQLite one task writes for all: a fault in one write must not end it.
async fn a_write_that_breaks_ends_neither_the_others_nor_those_after_it(db: &Db) {
    let site = Site::new(db).await;
    let before = site.number("SELECT COUNT(*) FROM incidents").await;
    let now = site.app.now();
    for n in 0..3 {
        let store = db.store.clone();
        let broken = async move {
            write!(store, |tx| {
                store::incidents::open(tx, now, "broken", "x", "look at it", "half done").await?;
                assert!(tx.random() == 0, "a fault in a write");
                Ok(())
            })
        };
        // PostgreSQL runs it in the caller, whom it takes along; SQLite answers him.
        match std::panic::AssertUnwindSafe(broken).catch_unwind().await {
            Ok(done) => assert_eq!(done.unwrap_err().cause(), Cause::Internal),
            Err(_) => assert_eq!(db.store.dialect(), store::Dialect::Postgres),
        }
        let subject = format!("after-{n}");
        write!(db.store, |tx, subject| {
            store::incidents::open(tx, now, "whole", &subject, "look at it", "done").await
        })
        .unwrap();
    }
    assert_eq!(site.number("SELECT COUNT(*) FROM incidents").await, before + 3);
    assert_eq!(site.number("SELECT COUNT(*) FROM incidents WHERE kind = 'broken'").await, 0);
}

both!(a_write_that_breaks_ends_neither_the_others_nor_those_after_it);
