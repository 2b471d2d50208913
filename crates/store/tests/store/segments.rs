//! Opening, closing, taking back and settling stretches of time.

use base::{Money, Rate, SegmentId, Timestamp};
use billing::Plan;
use store::lease::{self, Kind};
use store::segments::{self, Segment};
use store::{Store, accounts_used, nodes};

use crate::db::{Db, both, write};
use crate::fixture::{Site, T0, at, rent, site};

/// An open segment of a rented instance, from `from` on.
pub async fn open(store: &Store, site: &Site, n: u128, from: Timestamp) -> Segment {
    let instance = rent(store, site, n).await;
    let segment = Segment {
        id: SegmentId::new(from, n),
        instance: instance.id,
        account: site.account.clone(),
        node: site.node.clone(),
        generation: 1,
        kind: "device".into(),
        rate: Rate::from_micros_per_hour(3_600_000),
        price_version: "v1".into(),
        plan: Plan::OnDemand,
        from,
        to: None,
        posted: Money::ZERO,
        evidence: "a shell answered".into(),
        closed_by: None,
        devices: vec!["S0".into()],
        due_at: None,
    };
    assert!(write!(store, |tx, segment| segments::insert(tx, &segment).await).unwrap());
    segment
}

async fn only(store: &Store, segment: &Segment) -> Segment {
    let all = segments::of_instance(&mut store.read().await.unwrap(), &segment.instance).await.unwrap();
    all.into_iter().find(|s| s.id == segment.id).unwrap()
}

async fn close(store: &Store, segment: &Segment, to: Timestamp) -> Option<Segment> {
    let id = segment.instance.clone();
    write!(store, |tx, id| segments::close(tx, &id, to, "by-renter", at(50)).await).unwrap()
}

async fn shorten(store: &Store, segment: &Segment, to: Timestamp) -> bool {
    let id = segment.id.clone();
    write!(store, |tx, id| segments::shorten(tx, &id, to, "node-lost", at(60)).await).unwrap()
}

async fn an_instance_has_one_open_segment(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let segment = open(&db.store, &site, 1, at(10)).await;
    assert_eq!(only(&db.store, &segment).await, segment);
    let second = Segment { id: SegmentId::new(T0, 99), from: at(20), ..segment.clone() };
    assert!(!write!(db.store, |tx, second| segments::insert(tx, &second).await).unwrap());
    let closed = close(&db.store, &segment, at(40)).await.unwrap();
    assert_eq!(
        (closed.to, closed.due_at, closed.closed_by.as_deref()),
        (Some(at(40)), Some(at(50)), Some("by-renter"))
    );
    assert!(close(&db.store, &segment, at(41)).await.is_none());
    assert!(write!(db.store, |tx, second| segments::insert(tx, &second).await).unwrap());
}

async fn nothing_ends_before_it_began(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let segment = open(&db.store, &site, 1, at(10)).await;
    assert_eq!(close(&db.store, &segment, at(5)).await.unwrap().to, Some(at(10)));
    let segment = open(&db.store, &site, 2, at(10)).await;
    assert!(shorten(&db.store, &segment, at(5)).await);
    assert_eq!(only(&db.store, &segment).await.to, Some(at(10)));
}

async fn an_end_is_taken_back_only_until_it_is_posted(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let segment = open(&db.store, &site, 1, at(0)).await;
    assert!(shorten(&db.store, &segment, at(40)).await, "an open one is closed");
    assert!(!shorten(&db.store, &segment, at(45)).await, "never to a later end");
    assert!(shorten(&db.store, &segment, at(30)).await);
    let settle = async |posted: i64, until, due_at: Option<Timestamp>| {
        let leases = write!(db.store, |tx| lease::claim(tx, Kind::Segments, at(70), 10).await).unwrap();
        assert_eq!(leases.len(), 1);
        let lease = leases[0].clone();
        let found = write!(db.store, |tx, lease| segments::lock(tx, &lease).await).unwrap().unwrap();
        assert_eq!(found.id, segment.id);
        let posted = Money::from_micros(posted);
        assert!(write!(db.store, |tx, lease| segments::settled(tx, &lease, posted, until, due_at).await).unwrap());
        let lost = write!(db.store, |tx, lease| segments::settled(tx, &lease, posted, until, due_at).await).unwrap();
        assert!(!lost, "the lease is given back");
        assert!(write!(db.store, |tx, lease| segments::lock(tx, &lease).await).unwrap().is_none());
    };
    settle(20_000, at(20), Some(at(60))).await;
    assert!(shorten(&db.store, &segment, at(10)).await);
    assert_eq!(only(&db.store, &segment).await.to, Some(at(20)), "not behind what is posted");
    settle(20_000, at(20), None).await;
    assert!(!shorten(&db.store, &segment, at(10)).await, "what is settled stays");
    assert_eq!(only(&db.store, &segment).await.to, Some(at(20)));
}

async fn evidence_wakes_exactly_the_segments_that_waited_for_it(db: &Db) {
    let site = site(&db.store, 1, "20").await;
    let early = open(&db.store, &site, 1, at(0)).await;
    let late = open(&db.store, &site, 2, at(0)).await;
    let running = open(&db.store, &site, 3, at(0)).await;
    for (segment, to) in [(&early, at(10)), (&late, at(20))] {
        let id = segment.instance.clone();
        write!(db.store, |tx, id| segments::close(tx, &id, to, "by-renter", at(900)).await).unwrap();
    }
    let node = site.node.clone();
    write!(db.store, |tx, node| nodes::proven(tx, &node, at(15), "boot-1", at(30)).await).unwrap();
    assert_eq!(only(&db.store, &early).await.due_at, Some(at(30)));
    assert_eq!(only(&db.store, &late).await.due_at, Some(at(900)));
    assert_eq!(only(&db.store, &running).await.due_at, None);
    let mut read = db.store.read().await.unwrap();
    assert_eq!(segments::unsettled_on(&mut read, &node).await.unwrap().len(), 3);
    assert_eq!(segments::unsettled_of(&mut read, &site.account).await.unwrap().len(), 3);
    let used = accounts_used(&mut read, &site.account, at(100)).await.unwrap();
    assert_eq!(used, Money::from_micros(10_000 + 20_000 + 100_000));
    let within = segments::of_account(&mut read, &site.account, at(10), at(20)).await.unwrap();
    let ids: Vec<_> = within.into_iter().map(|s| s.id).collect();
    assert_eq!(ids, [late.id, running.id], "what ended at its beginning is not within");
}

both! {
    an_instance_has_one_open_segment,
    nothing_ends_before_it_began,
    an_end_is_taken_back_only_until_it_is_posted,
    evidence_wakes_exactly_the_segments_that_waited_for_it,
}
