//! The event stream: one order, nothing missed, nothing twice.

use std::sync::Arc;
use std::time::Duration;

use base::EventId;
use futures_util::future::join_all;
use serde_json::json;
use store::Store;
use store::events::{self, Audience};
use tokio::sync::Notify;

use crate::db::{Db, both, write};
use crate::fixture::{T0, account, at, number, site};

const WRITERS: i64 = 8;
const EACH: i64 = 40;

async fn record(store: &Store, subject: &str, secs: i64) {
    let subject = subject.to_owned();
    write!(store, |tx, subject| {
        events::record(tx, at(secs), None, &subject, "happened", "it happened", &json!({ "n": secs })).await
    })
    .unwrap();
}

async fn follow(store: &Store, total: usize) -> Vec<(i64, String)> {
    let (mut seen, mut last) = (Vec::new(), 0);
    while seen.len() < total {
        let found = {
            let mut read = store.read().await.unwrap();
            events::after(&mut read, &Audience::Operator, None, last, 7).await.unwrap()
        };
        if let Some(newest) = found.last() {
            last = newest.seq;
        }
        seen.extend(found.into_iter().map(|e| (e.seq, e.id.to_string())));
        tokio::task::yield_now().await;
    }
    seen
}

/// Writers and sequencers of two servers, and a reader who follows: he gets all,
/// in order, once.
async fn a_reader_who_follows_misses_nothing(db: &Db) {
    let other = db.other().await;
    let total = usize::try_from(WRITERS * EACH).unwrap();
    let reader = tokio::spawn({
        let store = db.store.clone();
        async move { tokio::time::timeout(Duration::from_secs(60), follow(&store, total)).await.unwrap() }
    });
    let sequencers: Vec<_> = [&db.store, &other]
        .into_iter()
        .map(|store| {
            let store = store.clone();
            tokio::spawn(async move {
                loop {
                    // Colliding with the other server is expected; trying again is the rule.
                    let _ = write!(store, |tx| events::sequence(tx).await);
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    let writers = (0..WRITERS).map(|w| {
        let store = if w % 2 == 0 { db.store.clone() } else { other.clone() };
        tokio::spawn(async move {
            for n in 0..EACH {
                record(&store, &format!("writer-{w}"), n).await;
            }
        })
    });
    for done in join_all(writers).await {
        done.unwrap();
    }
    let seen = reader.await.unwrap();
    for sequencer in sequencers {
        sequencer.abort();
    }
    let mut stored = Vec::new();
    let mut read = db.store.read().await.unwrap();
    for event in events::after(&mut read, &Audience::Operator, None, 0, 10_000).await.unwrap() {
        stored.push((event.seq, event.id.to_string()));
    }
    assert_eq!(seen.len(), total);
    assert_eq!(seen, stored, "what the reader saw is what is there, so no number was changed or filled in later");
    assert!(seen.windows(2).all(|w| w[0].0 < w[1].0));
    assert_eq!(events::last(&mut read).await.unwrap(), seen.last().unwrap().0);
    assert!(!events::any_unsequenced(&mut read).await.unwrap());
}

/// Two servers number at the same moment, the second knowing an older event that
/// the first did not see: what was numbered keeps its number.
async fn a_number_once_given_stays(db: &Db) {
    let other = db.other().await;
    record(&db.store, "new", 100).await;
    let (numbered, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let first = tokio::spawn({
        let (store, numbered, go) = (db.store.clone(), numbered.clone(), go.clone());
        async move {
            write!(store, |tx, numbered, go| {
                events::sequence(tx).await?;
                numbered.notify_one();
                go.notified().await;
                Ok(())
            })
            .unwrap();
        }
    });
    numbered.notified().await;
    if db.store.dialect() == store::Dialect::Sqlite {
        // One writer: nobody can number at the same moment.
        go.notify_one();
        first.await.unwrap();
        record(&db.store, "old", 1).await;
    } else {
        record(&other, "old", 1).await;
        let second = tokio::spawn({
            let other = other.clone();
            async move { write!(other, |tx| events::sequence(tx).await) }
        });
        let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
             AND datname = current_database()";
        let mut looks = 0;
        while number(&db.store, waiting).await == 0 {
            looks += 1;
            assert!(looks < 10_000, "the second never waited");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        go.notify_one();
        first.await.unwrap();
        // Either it found nothing to do for the numbered one, or it has to try again.
        let _ = second.await.unwrap();
    }
    write!(db.store, |tx| events::sequence(tx).await).unwrap();
    let mut read = db.store.read().await.unwrap();
    let all = events::after(&mut read, &Audience::Operator, None, 0, 10).await.unwrap();
    let order: Vec<_> = all.iter().map(|e| (e.seq, e.subject.as_str())).collect();
    assert_eq!(order[0], (1, "new"));
    assert_eq!(order[1].1, "old");
    assert_eq!(order.len(), 2);
}

async fn everybody_sees_his_own_events_only(db: &Db) {
    let site = site(&db.store, 1, "0").await;
    let (mine, theirs) = (site.account.clone(), account(2, "other"));
    let stranger = theirs.id.clone();
    write!(db.store, |tx, theirs, mine, stranger| {
        store::accounts::insert(tx, &theirs).await?;
        for (n, owner) in [(1, Some(&mine)), (2, Some(&stranger)), (3, None), (4, Some(&mine))] {
            let subject = format!("thing-{n}");
            events::record(tx, at(n), owner, &subject, "happened", "it happened", &json!({ "n": n })).await?;
        }
        Ok(())
    })
    .unwrap();
    let mut read = db.store.read().await.unwrap();
    assert!(events::any_unsequenced(&mut read).await.unwrap());
    assert!(events::after(&mut read, &Audience::Operator, None, 0, 9).await.unwrap().is_empty(), "not numbered yet");
    drop(read);
    assert_eq!(write!(db.store, |tx| events::sequence(tx).await).unwrap(), 4);
    assert_eq!(write!(db.store, |tx| events::sequence(tx).await).unwrap(), 0);
    let mut read = db.store.read().await.unwrap();
    let mut see = async |who: &Audience, subject: Option<&str>, after, limit| {
        let found = events::after(&mut read, who, subject, after, limit).await.unwrap();
        found.into_iter().map(|e| e.subject).collect::<Vec<_>>()
    };
    let me = Audience::Accounts(vec![mine.clone()]);
    assert_eq!(see(&me, None, 0, 9).await, ["thing-1", "thing-4"]);
    assert_eq!(see(&me, None, 1, 9).await, ["thing-4"]);
    assert_eq!(see(&me, Some("thing-2"), 0, 9).await, Vec::<String>::new());
    assert_eq!(see(&me, Some("thing-4"), 0, 9).await, ["thing-4"]);
    assert_eq!(see(&Audience::Accounts(vec![mine, stranger]), None, 0, 2).await, ["thing-1", "thing-2"]);
    assert_eq!(see(&Audience::Accounts(vec![]), None, 0, 9).await, Vec::<String>::new());
    assert_eq!(see(&Audience::Operator, None, 1, 2).await, ["thing-2", "thing-3"]);
    assert_eq!(see(&Audience::Operator, Some("thing-3"), 0, 2).await, ["thing-3"]);
}

/// Ids hold milliseconds: what happens within one must not come out in any order.
async fn events_of_one_moment_keep_their_order(db: &Db) {
    for _ in 0..3 {
        write!(db.store, |tx| {
            for n in 0..10 {
                events::record(tx, T0, None, "thing", "happened", "it happened", &json!({ "n": n })).await?;
            }
            Ok(())
        })
        .unwrap();
    }
    write!(db.store, |tx| events::sequence(tx).await).unwrap();
    let mut read = db.store.read().await.unwrap();
    let all = events::after(&mut read, &Audience::Operator, None, 0, 99).await.unwrap();
    let order: Vec<_> = all.iter().map(|e| e.data["n"].as_i64().unwrap()).collect();
    assert_eq!(order, [(0..10).collect::<Vec<_>>(), (0..10).collect(), (0..10).collect()].concat());
}

async fn an_event_comes_back_as_it_was_recorded(db: &Db) {
    record(&db.store, "thing", 3).await;
    write!(db.store, |tx| events::sequence(tx).await).unwrap();
    let mut read = db.store.read().await.unwrap();
    let all = events::after(&mut read, &Audience::Operator, None, 0, 9).await.unwrap();
    let event = &all[0];
    assert_eq!((event.seq, event.at, event.account.clone()), (1, at(3), None));
    assert_eq!(
        (event.kind.as_str(), event.message.as_str(), &event.data),
        ("happened", "it happened", &json!({"n": 3}))
    );
    assert!(event.id > EventId::new(T0, 0));
}

both! {
    a_reader_who_follows_misses_nothing,
    a_number_once_given_stays,
    events_of_one_moment_keep_their_order,
    everybody_sees_his_own_events_only,
    an_event_comes_back_as_it_was_recorded,
}
