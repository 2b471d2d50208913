//! Nodes, devices, and who holds them.

use std::collections::BTreeSet;

use base::{Span, Timestamp};
use domain::instance::{Desired, State};
use futures_util::future::join_all;
use store::segments::{self, Gap};
use store::{allocations, fleet, incidents, nodes};

use crate::db::{Db, both, write};
use crate::fixture::{T0, at, facts, inventory, number, put, rent, site};

async fn a_node_keeps_its_id_and_its_lost_devices(db: &Db) {
    let site = site(&db.store, 3, "0").await;
    let mut other = inventory("node-a", 1..4);
    other.version = 2;
    other.notices.clear();
    let id = write!(db.store, |tx, other| nodes::register(tx, &other, at(5)).await).unwrap();
    assert_eq!(id, site.node);
    let mut read = db.store.read().await.unwrap();
    let node = nodes::get(&mut read, &id).await.unwrap().unwrap();
    assert_eq!((node.inventory_version, node.seen_at, node.proven_until), (2, at(5), Timestamp::EPOCH));
    assert!(node.notices.is_empty());
    assert_eq!(nodes::list(&mut read).await.unwrap(), [node]);
    let devices = fleet::devices(&mut read, "").await.unwrap();
    let seen: Vec<_> = devices.iter().map(|d| (d.facts.index, d.ok)).collect();
    assert_eq!(seen, [(0, false), (1, true), (2, true), (3, true)]);
    assert_eq!(devices[1].id, site.devices[1], "a known card keeps its id");
    assert_eq!(devices[1].facts, facts(1));
    assert_eq!(fleet::devices(&mut read, "a100").await.unwrap().len(), 4);
    assert!(fleet::devices(&mut read, "h100").await.unwrap().is_empty());
}

async fn evidence_only_moves_forward(db: &Db) {
    let site = site(&db.store, 1, "0").await;
    let node = site.node.clone();
    for (until, want) in [(at(10), at(10)), (at(4), at(10)), (at(30), at(30))] {
        write!(db.store, |tx, node| nodes::proven(tx, &node, until, "boot-2", at(40)).await).unwrap();
        let mut read = db.store.read().await.unwrap();
        let stored = nodes::get(&mut read, &node).await.unwrap().unwrap();
        assert_eq!((stored.proven_until, stored.boot_id.as_str()), (want, "boot-2"));
    }
}

async fn a_node_is_lost_once_and_comes_back_with_evidence(db: &Db) {
    let site = site(&db.store, 1, "0").await;
    let node = site.node.clone();
    let seen = nodes::get(&mut db.store.read().await.unwrap(), &node).await.unwrap().unwrap().seen_at;
    let heard_elsewhere = seen.before(Span::from_secs(1));
    assert!(!write!(db.store, |tx, node| nodes::mark_lost(tx, &node, heard_elsewhere).await).unwrap());
    assert!(write!(db.store, |tx, node| nodes::mark_lost(tx, &node, seen).await).unwrap());
    assert!(!write!(db.store, |tx, node| nodes::mark_lost(tx, &node, seen).await).unwrap());
    write!(db.store, |tx, node| nodes::proven(tx, &node, at(1), "boot-1", at(1)).await).unwrap();
    let state = |db: &Db| {
        let store = db.store.clone();
        async move { nodes::list(&mut store.read().await.unwrap()).await.unwrap()[0].state.clone() }
    };
    assert_eq!(state(db).await, "ready");
    write!(db.store, |tx| nodes::set_device_state(tx, "GPU-0", true).await).unwrap();
    write!(db.store, |tx| nodes::set_device_state(tx, "GPU-unheard-of", true).await).unwrap();
    assert!(!fleet::devices(&mut db.store.read().await.unwrap(), "").await.unwrap()[0].ok);
    write!(db.store, |tx, node| nodes::mark_lost(tx, &node, at(1)).await).unwrap();
    write!(db.store, |tx| nodes::register(tx, &inventory("node-a", 0..1), at(2)).await).unwrap();
    assert_eq!(state(db).await, "ready");
    assert!(fleet::devices(&mut db.store.read().await.unwrap(), "").await.unwrap()[0].ok);
}

async fn fifty_at_once_want_one_card_and_one_gets_it(db: &Db) {
    let site = site(&db.store, 2, "500").await;
    let mut rented = Vec::new();
    for n in 0..50 {
        rented.push(rent(&db.store, &site, 100 + n).await);
    }
    let card = site.devices[0].clone();
    let takes = rented.iter().map(|i| {
        let (store, card, id) = (db.store.clone(), card.clone(), i.id.clone());
        tokio::spawn(
            async move { write!(store, |tx, card, id| allocations::take(tx, &card, &id, 1, T0).await).unwrap() },
        )
    });
    let got: Vec<_> = join_all(takes).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(got.iter().filter(|g| **g).count(), 1);
    let winner = rented[got.iter().position(|g| *g).unwrap()].id.clone();
    let loser = rented[got.iter().position(|g| !*g).unwrap()].id.clone();
    {
        let mut read = db.store.read().await.unwrap();
        assert_eq!(allocations::live(&mut read).await.unwrap(), [(card.clone(), winner.clone())]);
        assert_eq!(allocations::held_by(&mut read, &winner).await.unwrap(), [facts(0)]);
        assert!(allocations::held_by(&mut read, &loser).await.unwrap().is_empty());
        assert_eq!(fleet::devices(&mut read, "a100").await.unwrap()[0].held_by, Some(winner.clone()));
    }
    write!(db.store, |tx, winner| allocations::give_back(tx, &winner, at(1)).await).unwrap();
    assert_eq!(allocations::count_live(&mut db.store.read().await.unwrap()).await.unwrap(), 0);
    assert!(write!(db.store, |tx, card, loser| allocations::take(tx, &card, &loser, 1, at(1)).await).unwrap());
}

async fn the_database_itself_refuses_a_second_tenant(db: &Db) {
    let site = site(&db.store, 1, "50").await;
    let (a, b) = (rent(&db.store, &site, 1).await.id, rent(&db.store, &site, 2).await.id);
    let card = site.devices[0].clone();
    assert!(write!(db.store, |tx, card, a| allocations::take(tx, &card, &a, 1, T0).await).unwrap());
    let mut read = db.store.read().await.unwrap();
    let forced = sqlx::query(
        "INSERT INTO allocations (id, device_id, instance_id, generation, created_at) VALUES ('x', $1, $2, 1, 0)",
    )
    .bind(card.as_str())
    .bind(b.as_str())
    .execute(&mut *read)
    .await;
    assert!(forced.unwrap_err().as_database_error().unwrap().is_unique_violation());
}

async fn usage_and_stock_count_what_is_placed(db: &Db) {
    let site = site(&db.store, 2, "50").await;
    let (a, b) = (rent(&db.store, &site, 1).await.id, rent(&db.store, &site, 2).await.id);
    let mut read = db.store.read().await.unwrap();
    sqlx::query("UPDATE instances SET node_id = $1").bind(site.node.as_str()).execute(&mut *read).await.unwrap();
    drop(read);
    put(&db.store, &a, State::Running, Desired::Running).await;
    put(&db.store, &b, State::Stopped, Desired::Stopped).await;
    let card = site.devices[1].clone();
    write!(db.store, |tx, card, a| allocations::take(tx, &card, &a, 1, T0).await).unwrap();
    let mut read = db.store.read().await.unwrap();
    let used = fleet::usage(&mut read).await.unwrap();
    assert_eq!(used, [fleet::NodeUse { node: site.node.clone(), cpus: 4, memory_mib: 4_096 }]);
    let stock = fleet::stock(&mut read, "a100").await.unwrap();
    assert_eq!(stock.len(), 1);
    assert_eq!((stock[0].total, stock[0].free, stock[0].ready, stock[0].fake), (2, 1, true, true));
    assert!(fleet::stock(&mut read, "h100").await.unwrap().is_empty());
}

async fn an_incident_is_open_once_and_can_come_again(db: &Db) {
    let open = |now| async move {
        write!(db.store, |tx| incidents::open(tx, now, "stuck-state", "ins-1", "look", "why").await).unwrap()
    };
    assert!(open(T0).await);
    assert!(!open(at(1)).await);
    write!(db.store, |tx| incidents::close(tx, at(2), "stuck-state", "ins-1").await).unwrap();
    assert!(open(at(3)).await);
    let list = incidents::list(&mut db.store.read().await.unwrap(), 10).await.unwrap();
    let times: Vec<_> = list.iter().map(|i| (i.opened_at, i.closed_at)).collect();
    assert_eq!(times, [(at(3), None), (T0, Some(at(2)))]);
    assert_eq!((list[0].owner.as_str(), list[0].action.as_str()), ("operator", "look"));
    assert_eq!(incidents::list(&mut db.store.read().await.unwrap(), 1).await.unwrap().len(), 1);
}

async fn a_gap_is_recorded_once_and_found_by_what_it_touches(db: &Db) {
    let site = site(&db.store, 1, "0").await;
    let node = site.node.clone();
    let gap = Gap { from: at(10), to: at(20), why: "dark".into() };
    for _ in 0..2 {
        write!(db.store, |tx, node, gap| segments::record_gap(tx, &node, &gap).await).unwrap();
    }
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM gaps").await, 1);
    let mut read = db.store.read().await.unwrap();
    let mut touched = BTreeSet::new();
    for start in [0, 10, 15, 20] {
        let end = at(start).after(Span::from_secs(10));
        if !segments::gaps(&mut read, &node, at(start), end).await.unwrap().is_empty() {
            touched.insert(start);
        }
    }
    assert_eq!(touched, BTreeSet::from([10, 15]), "only touching an end is no overlap");
}

both! {
    a_node_keeps_its_id_and_its_lost_devices,
    evidence_only_moves_forward,
    a_node_is_lost_once_and_comes_back_with_evidence,
    fifty_at_once_want_one_card_and_one_gets_it,
    the_database_itself_refuses_a_second_tenant,
    usage_and_stock_count_what_is_placed,
    an_incident_is_open_once_and_can_come_again,
    a_gap_is_recorded_once_and_found_by_what_it_touches,
}
