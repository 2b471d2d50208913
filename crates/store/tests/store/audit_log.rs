//! The audit log: numbered without a gap, and chained so that nothing can be changed unnoticed.

use base::{Cause, Timestamp};
use serde_json::json;
use store::Store;
use store::audit_log::{self, Actor, ActorKind, Deed, Ended, Filter};

use crate::db::{Db, both, write};
use crate::fixture::{at, number};

fn deed(action: &str, object: &str) -> (Actor, Deed) {
    let actor = Actor {
        kind: ActorKind::User,
        id: Some("usr-1".into()),
        name: Some("ann".into()),
        address: Some("203.0.113.7".into()),
        request: Some("req-1".into()),
    };
    let deed = Deed {
        action: action.into(),
        object: Some(object.into()),
        account: None,
        ended: Ended::Done,
        code: None,
        was: Some(json!({ "role": "viewer" })),
        became: Some(json!({ "role": "admin", "of": 1 })),
    };
    (actor, deed)
}

async fn record(store: &Store, n: i64) {
    let (actor, deed) = deed(if n % 2 == 0 { "rent" } else { "stop" }, &format!("ins-{n}"));
    write!(store, |tx, actor, deed| audit_log::record(tx, at(n), &actor, &deed).await).unwrap();
}

async fn chain(store: &Store) -> usize {
    write!(store, |tx| audit_log::chain(tx).await).unwrap()
}

async fn check(store: &Store) -> audit_log::Checked {
    store.snapshot(|db| Box::pin(audit_log::check(db))).await.unwrap()
}

async fn entries_are_chained_in_order_and_come_back_as_they_were(db: &Db) {
    for n in 0..5 {
        record(&db.store, n).await;
    }
    assert!(audit_log::list(&mut db.store.read().await.unwrap(), &Filter::default(), 99, 9).await.unwrap().is_empty());
    assert_eq!((chain(&db.store).await, chain(&db.store).await), (5, 0));
    record(&db.store, 5).await;
    assert_eq!(chain(&db.store).await, 1);
    let mut read = db.store.read().await.unwrap();
    let all = audit_log::after(&mut read, 0, 99).await.unwrap();
    assert_eq!(all.iter().map(|e| e.seq.unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    let (actor, wanted) = deed("rent", "ins-4");
    assert_eq!((&all[4].actor, &all[4].deed, all[4].at), (&actor, &wanted, at(4)));
    let found = |filter: Filter| {
        let store = db.store.clone();
        async move {
            let found = audit_log::list(&mut store.read().await.unwrap(), &filter, i64::MAX, 99).await.unwrap();
            found.iter().map(|e| e.seq.unwrap()).collect::<Vec<_>>()
        }
    };
    assert_eq!(found(Filter { action: Some("stop".into()), ..Filter::default() }).await, [6, 4, 2]);
    assert_eq!(found(Filter { object: Some("ins-3".into()), ..Filter::default() }).await, [4]);
    assert_eq!(found(Filter { actor: Some("ann".into()), from: Some(at(4)), ..Filter::default() }).await, [6, 5]);
    assert_eq!(found(Filter { actor: Some("bob".into()), ..Filter::default() }).await, [0; 0]);
    assert_eq!(found(Filter { to: Some(at(1)), ..Filter::default() }).await, [1]);
    assert_eq!(check(&db.store).await, audit_log::Checked { entries: 6, broken_at: None });
}

async fn whatever_is_changed_is_noticed_where_it_is(db: &Db) {
    for (n, change) in [
        "UPDATE audit_log SET actor_name = 'eve' WHERE seq = 3",
        "UPDATE audit_log SET became = '{}' WHERE seq = 3",
        "UPDATE audit_log SET at = at + 1 WHERE seq = 3",
        "UPDATE audit_log SET result = 'refused' WHERE seq = 3",
        "DELETE FROM audit_log WHERE seq = 3",
    ]
    .into_iter()
    .enumerate()
    {
        write!(db.store, |tx| {
            sqlx::query("DELETE FROM audit_log").execute(&mut **tx).await?;
            Ok(())
        })
        .unwrap();
        for n in 0..6 {
            record(&db.store, n).await;
        }
        chain(&db.store).await;
        assert_eq!(check(&db.store).await.broken_at, None);
        write!(db.store, |tx| {
            sqlx::query(change).execute(&mut **tx).await?;
            Ok(())
        })
        .unwrap();
        let wanted = if n == 4 { 4 } else { 3 };
        assert_eq!(check(&db.store).await.broken_at, Some(wanted), "{change}");
    }
}

async fn what_is_kept_long_enough_goes_and_the_rest_stays_provable(db: &Db) {
    for n in 0..6 {
        record(&db.store, n).await;
    }
    chain(&db.store).await;
    assert_eq!(write!(db.store, |tx| audit_log::retain(tx, at(4)).await).unwrap(), 4);
    assert_eq!(check(&db.store).await, audit_log::Checked { entries: 2, broken_at: None });
    assert_eq!(write!(db.store, |tx| audit_log::retain(tx, at(99)).await).unwrap(), 2);
    record(&db.store, 9).await;
    chain(&db.store).await;
    assert_eq!(number(&db.store, "SELECT MIN(seq) FROM audit_log").await, 7, "numbers go on");
    assert_eq!(check(&db.store).await, audit_log::Checked { entries: 1, broken_at: None });
}

async fn servers_that_remove_at_once_leave_a_whole_chain(db: &Db) {
    for n in 0..60 {
        record(&db.store, n).await;
    }
    chain(&db.store).await;
    let stores = [db.store.clone(), db.other().await];
    let work = (1..60).map(|n| {
        let store = stores[n % 2].clone();
        let before = at(i64::try_from((n * 7) % 50).unwrap());
        tokio::spawn(async move { store.write(move |tx| Box::pin(audit_log::retain(tx, before))).await.unwrap() })
    });
    for done in futures_util::future::join_all(work).await {
        done.unwrap();
    }
    let checked = check(&db.store).await;
    assert_eq!(checked.broken_at, None);
    assert_eq!(checked.entries, number(&db.store, "SELECT COUNT(*) FROM audit_log").await);
    assert!(checked.entries < 20, "{checked:?}");
}

async fn servers_that_chain_at_once_leave_one_chain(db: &Db) {
    let other = db.other().await;
    let stores = [db.store.clone(), other];
    let work = (0..40).map(|n| {
        let store = stores[n % 2].clone();
        tokio::spawn(async move {
            record(&store, i64::try_from(n).unwrap()).await;
            // Refused at worst: then the other one did it.
            let _ = store.write(|tx| Box::pin(audit_log::chain(tx))).await;
        })
    });
    for done in futures_util::future::join_all(work).await {
        done.unwrap();
    }
    chain(&db.store).await;
    assert_eq!(check(&db.store).await, audit_log::Checked { entries: 40, broken_at: None });
}

async fn a_refusal_keeps_its_cause(db: &Db) {
    let (actor, mut refused) = deed("top_up", "/v1/accounts/x/topups");
    (refused.ended, refused.code, refused.was, refused.became) = (Ended::Refused, Some(Cause::Forbidden), None, None);
    write!(db.store, |tx, actor, refused| audit_log::record(tx, Timestamp::EPOCH, &actor, &refused).await).unwrap();
    chain(&db.store).await;
    let all = audit_log::after(&mut db.store.read().await.unwrap(), 0, 9).await.unwrap();
    assert_eq!(all[0].deed, refused);
}

both! {
    entries_are_chained_in_order_and_come_back_as_they_were,
    whatever_is_changed_is_noticed_where_it_is,
    what_is_kept_long_enough_goes_and_the_rest_stays_provable,
    servers_that_remove_at_once_leave_a_whole_chain,
    servers_that_chain_at_once_leave_one_chain,
    a_refusal_keeps_its_cause,
}
