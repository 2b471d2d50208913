//! Leases: any number of claimers, each thing once.

use std::collections::BTreeSet;

use base::{AccountId, Span};
use futures_util::future::join_all;
use store::lease::{self, Kind, LEASE, Lease};
use store::{Dialect, accounts, instances};

use crate::db::{Db, both, write};
use crate::fixture::{T0, account, at, rent, site};

const ROWS: u128 = 3_000;

async fn eight_claimers_never_get_one_thing_twice(db: &Db) {
    write!(db.store, |tx| {
        for n in 0..ROWS {
            let row = account(n, &format!("account-{n}"));
            accounts::insert(tx, &row).await?;
            accounts::nudge(tx, &row.id, T0).await?;
        }
        Ok(())
    })
    .unwrap();
    let other = db.other().await;
    let claimers = (0..8).map(|n| {
        let store = if n % 2 == 0 { db.store.clone() } else { other.clone() };
        tokio::spawn(async move {
            let mut mine = Vec::new();
            loop {
                let got = write!(store, |tx| lease::claim(tx, Kind::Accounts, at(1), 37).await).unwrap();
                if got.is_empty() {
                    return mine;
                }
                assert!(got.len() <= 37);
                mine.extend(got);
            }
        })
    });
    let all: Vec<Lease> = join_all(claimers).await.into_iter().flat_map(Result::unwrap).collect();
    let different: BTreeSet<_> = all.iter().map(|l| &l.id).collect();
    assert_eq!((all.len(), different.len()), (ROWS as usize, ROWS as usize));
    let tokens: BTreeSet<_> = all.iter().map(|l| &l.token).collect();
    assert!(tokens.len() > 8, "every claim has its own token");
}

async fn only_what_is_due_is_claimed_longest_due_first(db: &Db) {
    let site = site(&db.store, 1, "100").await;
    for n in 1..=3 {
        rent(&db.store, &site, n).await;
    }
    let mut read = db.store.read().await.unwrap();
    for (n, due) in [(1, 30), (2, 10), (3, 20)] {
        let id = crate::fixture::wish(&site, n).id;
        sqlx::query("UPDATE instances SET due_at = $2 WHERE id = $1")
            .bind(id.as_str())
            .bind(at(due).micros())
            .execute(&mut *read)
            .await
            .unwrap();
    }
    let id = |n| crate::fixture::wish(&site, n).id.to_string();
    let queue = lease::queue(&mut read, Kind::Instances, at(20)).await.unwrap();
    assert_eq!((queue.due, queue.next_due), (2, Some(at(10))));
    drop(read);
    let claim = async |now, limit| {
        let got = write!(db.store, |tx| lease::claim(tx, Kind::Instances, now, limit).await).unwrap();
        got.into_iter().map(|l| l.id).collect::<Vec<_>>()
    };
    assert_eq!(claim(at(9), 5).await, Vec::<String>::new());
    assert_eq!(claim(at(20), 1).await, [id(2)]);
    assert_eq!(claim(at(20), 5).await, [id(3)]);
    assert_eq!(claim(at(20), 5).await, Vec::<String>::new());
    assert_eq!(claim(at(30), 5).await, [id(1)]);
    let mut read = db.store.read().await.unwrap();
    for kind in Kind::ALL {
        lease::queue(&mut read, kind, at(99)).await.unwrap();
    }
}

async fn a_lease_is_renewed_by_its_holder_only(db: &Db) {
    let site = site(&db.store, 1, "100").await;
    rent(&db.store, &site, 1).await;
    let leases = write!(db.store, |tx| lease::claim(tx, Kind::Instances, at(1), 1).await).unwrap();
    let (mine, forged) = (leases[0].clone(), Lease { token: "00".into(), ..leases[0].clone() });
    let renew = async |lease: &Lease, now| {
        let lease = lease.clone();
        write!(db.store, |tx, lease| lease::renew(tx, Kind::Instances, &lease, now).await).unwrap()
    };
    assert!(renew(&mine, at(2)).await);
    assert!(!renew(&forged, at(2)).await);
    assert!(write!(db.store, |tx, mine| instances::lock(tx, &mine).await).unwrap().is_some());
    assert!(write!(db.store, |tx, forged| instances::lock(tx, &forged).await).unwrap().is_none());
    if db.store.dialect() == Dialect::Sqlite {
        // Where one process is alone its own clock counts, so a test can move it.
        let over = at(2).after(LEASE).after(Span::from_micros(1));
        assert!(
            write!(db.store, |tx| lease::claim(tx, Kind::Instances, at(2).after(LEASE), 1).await).unwrap().is_empty()
        );
        assert_eq!(write!(db.store, |tx| lease::claim(tx, Kind::Instances, over, 1).await).unwrap().len(), 1);
        assert!(!renew(&mine, over).await);
    }
}

async fn what_is_given_back_is_claimed_again_at_once(db: &Db) {
    let site = site(&db.store, 1, "100").await;
    rent(&db.store, &site, 1).await;
    let first = write!(db.store, |tx| lease::claim(tx, Kind::Instances, at(1), 1).await).unwrap();
    assert!(write!(db.store, |tx| lease::claim(tx, Kind::Instances, at(1), 1).await).unwrap().is_empty());
    let mine = first[0].clone();
    let stale = Lease { token: "another".into(), ..mine.clone() };
    write!(db.store, |tx, stale| lease::give_back(tx, Kind::Instances, &stale, at(1)).await).unwrap();
    assert!(write!(db.store, |tx| lease::claim(tx, Kind::Instances, at(1), 1).await).unwrap().is_empty());
    write!(db.store, |tx, mine| lease::give_back(tx, Kind::Instances, &mine, at(1)).await).unwrap();
    let again = write!(db.store, |tx| lease::claim(tx, Kind::Instances, at(1), 1).await).unwrap();
    assert_eq!((again.len(), again[0].token == mine.token), (1, false));
}

async fn a_result_without_the_lease_or_for_another_generation_is_dropped(db: &Db) {
    let site = site(&db.store, 1, "100").await;
    let instance = rent(&db.store, &site, 1).await;
    let leases = write!(db.store, |tx| lease::claim(tx, Kind::Instances, at(1), 1).await).unwrap();
    let lease = leases[0].clone();
    let save = async |lease: &Lease, generation, seen| {
        let (lease, row) =
            (lease.clone(), instances::Instance { generation, due_at: Some(at(99)), ..instance.clone() });
        write!(db.store, |tx, lease, row| instances::save(tx, &lease, &row, seen, at(5)).await).unwrap()
    };
    assert!(!save(&Lease { token: "00".into(), ..lease.clone() }, 1, 0).await);
    assert!(!save(&lease, 2, 0).await);
    let id = instance.id.clone();
    write!(db.store, |tx, id| instances::nudge(tx, &id, at(4)).await).unwrap();
    assert!(save(&lease, 1, 0).await);
    let due = instances::get(&mut db.store.read().await.unwrap(), &instance.id).await.unwrap().unwrap().due_at;
    assert_eq!(due, Some(at(5)), "a wish that came meanwhile is not slept over");
    assert!(!save(&lease, 1, 1).await, "the lease was given back");
    let lease = write!(db.store, |tx| lease::claim(tx, Kind::Instances, at(6), 1).await).unwrap()[0].clone();
    assert!(save(&lease, 1, 1).await);
    let due = instances::get(&mut db.store.read().await.unwrap(), &instance.id).await.unwrap().unwrap().due_at;
    assert_eq!(due, Some(at(99)));
}

async fn the_guard_drops_its_result_when_the_account_was_nudged(db: &Db) {
    let site = site(&db.store, 1, "100").await;
    let id: AccountId = site.account.clone();
    let claim = async |now| {
        write!(db.store, |tx, id| {
            accounts::nudge(tx, &id, now).await?;
            lease::claim(tx, Kind::Accounts, now, 1).await
        })
        .unwrap()[0]
            .clone()
    };
    let guarded = async |lease: &Lease, rung| {
        let lease = lease.clone();
        write!(db.store, |tx, id, lease| accounts::guarded(tx, &id, &lease.token, Some(at(50)), rung).await).unwrap()
    };
    let old = claim(at(1)).await;
    let new = claim(at(2)).await;
    assert!(!guarded(&old, 2).await);
    assert!(guarded(&new, 1).await);
    assert!(!guarded(&new, 3).await);
    let stored = accounts::get(&mut db.store.read().await.unwrap(), &id).await.unwrap().unwrap();
    assert_eq!((stored.due_at, stored.rung), (Some(at(50)), 1));
}

both! {
    what_is_given_back_is_claimed_again_at_once,
    eight_claimers_never_get_one_thing_twice,
    only_what_is_due_is_claimed_longest_due_first,
    a_lease_is_renewed_by_its_holder_only,
    a_result_without_the_lease_or_for_another_generation_is_dropped,
    the_guard_drops_its_result_when_the_account_was_nudged,
}
