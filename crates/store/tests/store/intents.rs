//! Rent, stop, start, release: each one transaction, each refusal leaving nothing.

use base::{Cause, InstanceId, Money};
use domain::instance::{Desired, LIFE_CYCLE, State};
use futures_util::future::join_all;
use store::idempotency::{self, Key};
use store::instances::{self, Instance};
use store::intents::{self, Rented, Restart};
use store::{Store, accounts, allocations, events};

use crate::db::{Db, both, write};
use crate::fixture::{T0, account, at, by_renter, number, put, rent, site, top_up, wish};

const HOUR: Money = Money::from_micros(3_200_000);

async fn get(store: &Store, id: &InstanceId) -> Instance {
    instances::get(&mut store.read().await.unwrap(), id).await.unwrap().unwrap()
}

async fn held(store: &Store) -> i64 {
    number(store, "SELECT held FROM accounts").await
}

async fn stop(store: &Store, id: &InstanceId) -> base::Result<()> {
    let (id, reason) = (id.clone(), by_renter());
    write!(store, |tx, id, reason| intents::stop(tx, &id, &reason, at(60)).await)
}

async fn release(store: &Store, id: &InstanceId) -> base::Result<()> {
    let (id, reason) = (id.clone(), by_renter());
    write!(store, |tx, id, reason| intents::release(tx, &id, &reason, at(90)).await)
}

async fn start(store: &Store, id: &InstanceId, hold: Money) -> base::Result<()> {
    let (id, restart) = (id.clone(), Restart { instance: get(store, id).await, hold });
    write!(store, |tx, id, restart| intents::start(tx, &id, &restart, at(70)).await)
}

async fn a_rent_comes_back_as_it_was_written(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let instance = rent(&db.store, &site, 5).await;
    assert_eq!(get(&db.store, &instance.id).await, instance);
    assert_eq!(held(&db.store).await, HOUR.micros());
    let mut read = db.store.read().await.unwrap();
    for reference in [instance.id.as_str(), instance.slug.as_str(), instance.name.as_str()] {
        let found = instances::find(&mut read, reference).await.unwrap();
        assert_eq!(found, std::slice::from_ref(&instance), "{reference}");
    }
    assert!(instances::find(&mut read, "job-6").await.unwrap().is_empty());
    assert_eq!(instances::count_by_state(&mut read).await.unwrap()[&State::Requested], 1);
}

async fn not_enough_money_leaves_nothing_behind(db: &Db) {
    let site = site(&db.store, 1, "3").await;
    let instance = wish(&site, 1);
    let key = Key { user: site.user.clone(), key: "k".into(), request: "r".into() };
    let refused =
        write!(db.store, |tx, instance, key| intents::rent(tx, &instance, HOUR, Some(&key), T0).await).unwrap_err();
    assert_eq!(refused.cause(), Cause::NotEnoughFunds);
    assert!(refused.message().contains("3.20 CNY") && refused.message().contains("3.00 CNY"), "{refused}");
    assert!(refused.hint_text().unwrap().contains("0.20 CNY"), "{refused:?}");
    for table in [
        "SELECT COUNT(*) FROM instances",
        "SELECT COUNT(*) FROM holds",
        "SELECT COUNT(*) FROM idempotency",
        "SELECT COUNT(*) FROM events",
        "SELECT held FROM accounts",
    ] {
        assert_eq!(number(&db.store, table).await, 0, "{table}");
    }
}

async fn holds_add_up_and_are_given_back_once(db: &Db) {
    let site = site(&db.store, 4, "10").await;
    let first = rent(&db.store, &site, 1).await.id;
    rent(&db.store, &site, 2).await;
    rent(&db.store, &site, 3).await;
    assert_eq!(held(&db.store).await, 3 * HOUR.micros());
    let fourth = wish(&site, 4);
    let refused = write!(db.store, |tx, fourth| intents::rent(tx, &fourth, HOUR, None, T0).await).unwrap_err();
    assert_eq!(refused.cause(), Cause::NotEnoughFunds);
    for _ in 0..2 {
        write!(db.store, |tx, first| accounts::unhold(tx, &first).await).unwrap();
        assert_eq!(held(&db.store).await, 2 * HOUR.micros());
    }
    assert_eq!(number(&db.store, "SELECT CAST(SUM(amount) AS BIGINT) FROM holds").await, 2 * HOUR.micros());
}

async fn many_rents_at_once_never_promise_more_than_there_is(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let rents = (0..20).map(|n| {
        let (store, instance) = (db.store.clone(), wish(&site, n));
        tokio::spawn(
            async move { write!(store, |tx, instance| intents::rent(tx, &instance, HOUR, None, T0).await).is_ok() },
        )
    });
    let done = join_all(rents).await.into_iter().filter(|r| *r.as_ref().unwrap()).count();
    assert_eq!(done, 3);
    assert_eq!(held(&db.store).await, 3 * HOUR.micros());
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM instances").await, 3);
}

async fn the_same_key_does_the_same_request_once(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let send = |n: u128, request: &str| {
        let (instance, store) = (wish(&site, n), db.store.clone());
        let key = Key { user: site.user.clone(), key: "k1".into(), request: request.into() };
        async move { write!(store, |tx, instance, key| intents::rent(tx, &instance, HOUR, Some(&key), T0).await) }
    };
    assert!(matches!(send(1, "POST a").await.unwrap(), Rented::New));
    let Rented::Before(id) = send(2, "POST a").await.unwrap() else { panic!("rented twice") };
    assert_eq!(id, wish(&site, 1).id.as_str());
    assert_eq!(send(3, "POST b").await.unwrap_err().cause(), Cause::IdempotencyMismatch);
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM instances").await, 1);
    assert_eq!(held(&db.store).await, HOUR.micros());
    let key = Key { user: site.user.clone(), key: "k1".into(), request: "POST a".into() };
    let mut read = db.store.read().await.unwrap();
    assert_eq!(idempotency::earlier(&mut read, &key).await.unwrap(), Some(id));
}

async fn the_same_key_many_times_at_once_is_one_instance(db: &Db) {
    let site = site(&db.store, 1, "100").await;
    let sends = (0..12).map(|n| {
        let (instance, store) = (wish(&site, n), db.store.clone());
        let key = Key { user: site.user.clone(), key: "k1".into(), request: "POST a".into() };
        tokio::spawn(async move {
            write!(store, |tx, instance, key| intents::rent(tx, &instance, HOUR, Some(&key), T0).await)
        })
    });
    let answers: Vec<_> = join_all(sends).await.into_iter().map(|r| r.unwrap().unwrap()).collect();
    assert_eq!(answers.iter().filter(|a| matches!(a, Rented::New)).count(), 1);
    let mut read = db.store.read().await.unwrap();
    let only = instances::list(&mut read, &site.account, None, true, None, 10).await.unwrap();
    assert_eq!(only.len(), 1);
    for answer in answers {
        if let Rented::Before(id) = answer {
            assert_eq!(id, only[0].id.as_str());
        }
    }
}

async fn a_stop_is_accepted_once_and_only_while_it_runs(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let id = rent(&db.store, &site, 1).await.id;
    let before = get(&db.store, &id).await;
    stop(&db.store, &id).await.unwrap();
    let after = get(&db.store, &id).await;
    assert_eq!((after.desired, after.due_at, after.wishes), (Desired::Stopped, Some(at(60)), before.wishes + 1));
    assert_eq!(after.reason, Some(by_renter()));
    let events_before = number(&db.store, "SELECT COUNT(*) FROM events").await;
    assert_eq!(stop(&db.store, &id).await.unwrap_err().cause(), Cause::WrongState);
    for state in [State::Stopping, State::Stopped, State::Lost, State::Failed, State::Releasing, State::Released] {
        put(&db.store, &id, state, Desired::Running).await;
        let refused = stop(&db.store, &id).await.unwrap_err();
        assert_eq!(refused.cause(), Cause::WrongState, "{state}");
        assert!(refused.hint_text().is_some(), "{state}");
    }
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM events").await, events_before);
    let nobody = InstanceId::new(T0, 999);
    assert_eq!(stop(&db.store, &nobody).await.unwrap_err().cause(), Cause::NotFound);
}

async fn a_start_is_a_new_generation_with_a_new_hold(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let id = rent(&db.store, &site, 1).await.id;
    for state in [State::Requested, State::Creating, State::Starting, State::Running, State::Stopping] {
        put(&db.store, &id, state, Desired::Running).await;
        assert_eq!(start(&db.store, &id, HOUR).await.unwrap_err().cause(), Cause::WrongState, "{state}");
    }
    write!(db.store, |tx, id| accounts::unhold(tx, &id).await).unwrap();
    put(&db.store, &id, State::Stopped, Desired::Stopped).await;
    let dear: Money = "10.01".parse().unwrap();
    let before = get(&db.store, &id).await;
    assert_eq!(start(&db.store, &id, dear).await.unwrap_err().cause(), Cause::NotEnoughFunds);
    assert_eq!(get(&db.store, &id).await, before, "a refusal changes nothing");
    start(&db.store, &id, HOUR).await.unwrap();
    let after = get(&db.store, &id).await;
    assert_eq!((after.generation, after.state, after.desired), (2, State::Requested, Desired::Running));
    assert_eq!((after.due_at, after.deadline_at, after.reason), (Some(at(70)), Some(at(100)), None));
    assert_eq!(held(&db.store).await, HOUR.micros());
    assert_eq!(start(&db.store, &id, HOUR).await.unwrap_err().cause(), Cause::WrongState);
}

async fn a_release_is_accepted_in_every_state_but_the_last(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let id = rent(&db.store, &site, 1).await.id;
    for state in LIFE_CYCLE.iter().map(|row| row.state) {
        put(&db.store, &id, state, Desired::Running).await;
        match state {
            State::Released => assert_eq!(release(&db.store, &id).await.unwrap_err().cause(), Cause::WrongState),
            _ => {
                release(&db.store, &id).await.unwrap();
                assert_eq!(get(&db.store, &id).await.desired, Desired::Released, "{state}");
            }
        }
    }
    put(&db.store, &id, State::Stopped, Desired::Released).await;
    assert!(start(&db.store, &id, HOUR).await.is_err(), "what is being released does not start again");
}

async fn lists_are_newest_first_paged_and_hide_what_is_released(db: &Db) {
    let site = site(&db.store, 1, "100").await;
    for n in 1..=5 {
        rent(&db.store, &site, n).await;
    }
    let id = |n| wish(&site, n).id;
    put(&db.store, &id(3), State::Released, Desired::Released).await;
    let mut read = db.store.read().await.unwrap();
    let mut page = async |all, before: Option<u128>, limit| {
        let before = before.map(id);
        let found = instances::list(&mut read, &site.account, None, all, before.as_ref(), limit).await.unwrap();
        found.into_iter().map(|i| i.id).collect::<Vec<_>>()
    };
    assert_eq!(page(false, None, 10).await, [id(5), id(4), id(2), id(1)]);
    assert_eq!(page(true, None, 2).await, [id(5), id(4)]);
    assert_eq!(page(true, Some(4), 2).await, [id(3), id(2)]);
    assert!(page(true, Some(1), 2).await.is_empty());
    let stranger = account(5, "stranger").id;
    assert!(instances::list(&mut read, &stranger, None, true, None, 10).await.unwrap().is_empty());
}

async fn evidence_of_an_end_is_taken_once_and_only_for_its_run(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let id = rent(&db.store, &site, 1).await.id;
    let lose = async |generation| {
        let reason = by_renter();
        write!(db.store, |tx, id, reason| instances::lose(tx, &id, generation, &reason, at(9)).await).unwrap()
    };
    assert!(!lose(1).await, "what has no cards yet cannot be lost");
    put(&db.store, &id, State::Running, Desired::Running).await;
    assert!(!lose(2).await);
    assert!(lose(1).await);
    assert!(!lose(1).await);
    let exit = async |generation, code| {
        write!(db.store, |tx, id| instances::command_ended(tx, &id, generation, code).await).unwrap()
    };
    assert_eq!(exit(2, 1).await, None);
    assert_eq!(exit(1, 7).await, Some(site.account.clone()));
    assert_eq!(exit(1, 8).await, None);
    assert_eq!(get(&db.store, &id).await.on_start_exit, Some(7));
}

async fn only_what_runs_on_a_node_is_said_to(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let (a, b) = (rent(&db.store, &site, 1).await.id, rent(&db.store, &site, 2).await.id);
    let mut read = db.store.read().await.unwrap();
    sqlx::query("UPDATE instances SET node_id = $1").bind(site.node.as_str()).execute(&mut *read).await.unwrap();
    drop(read);
    put(&db.store, &b, State::Running, Desired::Running).await;
    let running = instances::running_on(&mut db.store.read().await.unwrap(), &site.node).await.unwrap();
    assert_eq!(running.into_iter().map(|i| i.id).collect::<Vec<_>>(), [b]);
    write!(db.store, |tx, a| instances::nudge(tx, &a, at(5)).await).unwrap();
    let nudged = get(&db.store, &a).await;
    assert_eq!((nudged.wishes, nudged.due_at), (1, Some(at(5))));
    assert!(allocations::held_by(&mut db.store.read().await.unwrap(), &a).await.unwrap().is_empty());
}

async fn every_intent_tells_the_account_what_happened(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    assert!(!top_up(&db.store, &site.account, Money::from_micros(1), "first").await, "the same cause");
    let id = rent(&db.store, &site, 1).await.id;
    stop(&db.store, &id).await.unwrap();
    release(&db.store, &id).await.unwrap();
    write!(db.store, |tx| events::sequence(tx).await).unwrap();
    let mut read = db.store.read().await.unwrap();
    let audience = events::Audience::Accounts(vec![site.account.clone()]);
    let told = events::after(&mut read, &audience, Some(id.as_str()), 0, 10).await.unwrap();
    let kinds: Vec<_> = told.iter().map(|e| e.kind.as_str()).collect();
    assert_eq!(kinds, ["state-changed", "stop-accepted", "release-accepted"]);
    assert_eq!(told[1].data["cause"], "by-renter");
}

both! {
    a_rent_comes_back_as_it_was_written,
    not_enough_money_leaves_nothing_behind,
    holds_add_up_and_are_given_back_once,
    many_rents_at_once_never_promise_more_than_there_is,
    the_same_key_does_the_same_request_once,
    the_same_key_many_times_at_once_is_one_instance,
    a_stop_is_accepted_once_and_only_while_it_runs,
    a_start_is_a_new_generation_with_a_new_hold,
    a_release_is_accepted_in_every_state_but_the_last,
    lists_are_newest_first_paged_and_hide_what_is_released,
    evidence_of_an_end_is_taken_once_and_only_for_its_run,
    only_what_runs_on_a_node_is_said_to,
    every_intent_tells_the_account_what_happened,
}
