//! Quotas of projects beside those of their account.

use base::{Cause, Money, SegmentId, Timestamp};
use domain::instance::{Desired, State};
use domain::project::Project;
use futures_util::future::join_all;
use store::instances::Instance;
use store::quotas::{self, Amounts};
use store::segments::{self, Segment};
use store::{Store, intents};

use crate::db::{Db, both, write};
use crate::fixture::{Site, T0, at, number, put, site, wish};

const HOUR: Money = Money::from_micros(3_200_000);

fn project(name: &str) -> Project {
    name.parse().unwrap()
}

fn part(site: &Site, n: u128, of: Option<&str>) -> Instance {
    Instance { project: of.map(project), ..wish(site, n) }
}

async fn rent(store: &Store, instance: &Instance) -> base::Result<()> {
    write!(store, |tx, instance| intents::rent(tx, &instance, HOUR, None, T0).await.map(drop))
}

async fn limit(store: &Store, site: &Site, of: Option<&str>, most: Amounts) -> base::Result<()> {
    let (account, of) = (site.account.clone(), of.map(project));
    write!(store, |tx, account, of, most| quotas::set(tx, &account, of.as_ref(), &most).await)
}

async fn used(store: &Store, site: &Site, of: Option<&str>, now: Timestamp) -> Amounts {
    let of = of.map(project);
    quotas::used(&mut store.read().await.unwrap(), &site.account, of.as_ref(), None, now).await.unwrap()
}

fn cards(most: i64) -> Amounts {
    Amounts { cards_total: Some(most), ..Amounts::default() }
}

async fn quotas_of_account_and_projects_are_apart(db: &Db) {
    let site = site(&db.store, 1, "1").await;
    let models = Amounts { cards: [("a100".to_owned(), 2)].into(), spend_per_day: Some(HOUR), ..cards(3) };
    limit(&db.store, &site, None, cards(9)).await.unwrap();
    limit(&db.store, &site, Some("a"), models.clone()).await.unwrap();
    limit(&db.store, &site, Some("A"), cards(1)).await.unwrap();
    let mut read = db.store.read().await.unwrap();
    for (of, want) in
        [(None, cards(9)), (Some("a"), models.clone()), (Some("A"), cards(1)), (Some("b"), Amounts::default())]
    {
        let of = of.map(project);
        assert_eq!(quotas::of(&mut read, &site.account, of.as_ref()).await.unwrap(), want, "{of:?}");
    }
    drop(read);
    limit(&db.store, &site, Some("A"), Amounts::default()).await.unwrap();
    let all = quotas::of_projects(&mut db.store.read().await.unwrap(), &site.account).await.unwrap();
    assert_eq!(all, [(project("a"), models)].into());
    limit(&db.store, &site, None, Amounts::default()).await.unwrap();
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM quotas WHERE project = ''").await, 0);
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM quotas").await, 3);
}

async fn a_rent_has_to_fit_both(db: &Db) {
    let site = site(&db.store, 8, "1000").await;
    limit(&db.store, &site, Some("a"), cards(1)).await.unwrap();
    rent(&db.store, &part(&site, 1, Some("a"))).await.unwrap();
    let refused = rent(&db.store, &part(&site, 2, Some("a"))).await.unwrap_err();
    assert_eq!(refused.cause(), Cause::QuotaExceeded);
    assert_eq!(refused.message(), "the quota of the project `a` is 1 cards: 1 used, 1 more asked for");
    assert!(refused.hint_text().unwrap().contains("an owner or admin of this account"), "{refused:?}");
    // Neither another project nor what belongs to none.
    rent(&db.store, &part(&site, 3, Some("A"))).await.unwrap();
    rent(&db.store, &part(&site, 4, None)).await.unwrap();
    limit(&db.store, &site, None, cards(3)).await.unwrap();
    for (n, of) in [(5, Some("b")), (6, None), (7, Some("a"))] {
        let refused = rent(&db.store, &part(&site, n, of)).await.unwrap_err();
        assert_eq!(refused.message(), "the quota of this account is 3 cards: 3 used, 1 more asked for", "{of:?}");
        assert!(refused.hint_text().unwrap().contains("an operator"), "{refused:?}");
    }
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM instances").await, 3);
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM holds").await, 3);
    // What stopped gives its card back to its project.
    put(&db.store, &part(&site, 1, None).id, State::Stopped, Desired::Stopped).await;
    rent(&db.store, &part(&site, 8, Some("a"))).await.unwrap();
}

async fn of_many_at_once_only_one_gets_the_last_of_a_project(db: &Db) {
    let site = site(&db.store, 8, "1000").await;
    let stores = [db.store.clone(), db.other().await];
    for (round, most) in [
        cards(1),
        Amounts { instances: Some(1), ..Amounts::default() },
        Amounts { spend_per_day: Some(HOUR), ..Amounts::default() },
        Amounts { storage_gib: Some(10), ..Amounts::default() },
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("round-{round}");
        limit(&db.store, &site, Some(&name), most).await.unwrap();
        let rents = (0..6u128).map(|n| {
            let (store, one) = (stores[usize::from(n % 2 == 1)].clone(), 100 * (round as u128 + 1) + n);
            let instance = part(&site, one, Some(&name));
            tokio::spawn(async move { rent(&store, &instance).await })
        });
        let done: Vec<_> = join_all(rents).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(done.iter().filter(|d| d.is_ok()).count(), 1, "{name}");
        for refused in done.into_iter().filter_map(Result::err) {
            assert_eq!(refused.cause(), Cause::QuotaExceeded, "{refused:?}");
            assert!(refused.message().contains(&name), "{refused:?}");
        }
    }
}

/// A stretch of an instance's time, at 3.60 an hour.
async fn ran(store: &Store, site: &Site, instance: &Instance, from: Timestamp, to: Option<Timestamp>) {
    let segment = Segment {
        id: SegmentId::new(from, rand::random()),
        instance: instance.id.clone(),
        account: site.account.clone(),
        node: site.node.clone(),
        generation: 1,
        kind: "device".into(),
        rate: base::Rate::from_micros_per_hour(3_600_000),
        price_version: "v1".into(),
        plan: billing::Plan::OnDemand,
        from,
        to,
        posted: Money::ZERO,
        evidence: "by hand".into(),
        closed_by: None,
        devices: vec![],
        due_at: None,
    };
    assert!(write!(store, |tx, segment| segments::insert(tx, &segment).await).unwrap());
}

/// What the projects have, and what belongs to none, is all that the account has.
async fn what_projects_have_adds_up_to_the_account(db: &Db) {
    let site = site(&db.store, 8, "1000").await;
    let (a, b) = (part(&site, 1, Some("a")), part(&site, 2, Some("b")));
    let (gone, none) = (part(&site, 3, Some("gone")), part(&site, 4, None));
    for instance in [&a, &b, &gone, &none] {
        rent(&db.store, instance).await.unwrap();
    }
    ran(&db.store, &site, &a, at(0), Some(at(100))).await;
    ran(&db.store, &site, &a, at(200), None).await;
    ran(&db.store, &site, &gone, at(0), Some(at(60))).await;
    ran(&db.store, &site, &none, at(0), None).await;
    put(&db.store, &gone.id, State::Released, Desired::Released).await;
    let now = at(300);
    let by = quotas::by_project(&mut db.store.read().await.unwrap(), &site.account, now).await.unwrap();
    let spent = |name: &str| by[&project(name)].spend_per_day.unwrap().to_string();
    // The hour set aside, and 0.001 a second.
    assert_eq!((spent("a"), spent("b"), spent("gone")), ("3.40".into(), "3.20".into(), "3.26".into()));
    assert_eq!((by[&project("a")].instances, by[&project("gone")].instances), (Some(1), Some(0)));
    for (name, amounts) in &by {
        assert_eq!(used(&db.store, &site, Some(name.as_str()), now).await, *amounts, "{name}");
    }
    let whole = used(&db.store, &site, None, now).await;
    let without = Money::from_micros(3_200_000 + 300_000);
    let sum = Money::sum(by.values().filter_map(|a| a.spend_per_day)).unwrap().plus(without).unwrap();
    assert_eq!(whole.spend_per_day, Some(sum));
    assert_eq!((whole.cards["a100"], whole.cards_total, whole.instances), (3, Some(3), Some(3)));
    assert_eq!(whole.storage_gib, Some(30));
    // Tomorrow only what still runs or is set aside counts.
    let tomorrow = base::time::day_start(at(86_400), "Asia/Shanghai").unwrap();
    let by = quotas::by_project(&mut db.store.read().await.unwrap(), &site.account, tomorrow).await.unwrap();
    assert_eq!(by[&project("a")].spend_per_day, Some(HOUR));
}

async fn lists_hold_one_project(db: &Db) {
    let site = site(&db.store, 8, "1000").await;
    for (n, of) in [(1, Some("a")), (2, None), (3, Some("a")), (4, Some("A"))] {
        rent(&db.store, &part(&site, n, of)).await.unwrap();
    }
    let mut read = db.store.read().await.unwrap();
    for (of, want) in [(Some("a"), vec![3, 1]), (Some("A"), vec![4]), (Some("b"), vec![]), (None, vec![4, 3, 2, 1])] {
        let of = of.map(project);
        let found = store::instances::list(&mut read, &site.account, of.as_ref(), false, None, 9).await.unwrap();
        let want: Vec<_> = want.into_iter().map(|n| wish(&site, n).id).collect();
        assert_eq!(found.into_iter().map(|i| i.id).collect::<Vec<_>>(), want, "{of:?}");
    }
}

async fn only_so_many_projects_have_quotas(db: &Db) {
    let site = site(&db.store, 1, "1").await;
    let account = site.account.clone();
    write!(db.store, |tx, account| {
        for n in 0..quotas::MOST_PROJECTS {
            sqlx::query("INSERT INTO quotas (account_id, project, kind, most) VALUES ($1, $2, 'cards', 1)")
                .bind(account.as_str())
                .bind(format!("p{n}"))
                .execute(&mut **tx)
                .await?;
        }
        Ok(())
    })
    .unwrap();
    let refused = limit(&db.store, &site, Some("one more"), cards(1)).await.unwrap_err();
    assert_eq!(refused.cause(), Cause::QuotaExceeded, "{refused:?}");
    limit(&db.store, &site, Some("p7"), cards(2)).await.unwrap();
    limit(&db.store, &site, None, cards(2)).await.unwrap();
    limit(&db.store, &site, Some("p8"), Amounts::default()).await.unwrap();
    limit(&db.store, &site, Some("one more"), cards(1)).await.unwrap();
}

both!(
    quotas_of_account_and_projects_are_apart,
    a_rent_has_to_fit_both,
    of_many_at_once_only_one_gets_the_last_of_a_project,
    what_projects_have_adds_up_to_the_account,
    lists_hold_one_project,
    only_so_many_projects_have_quotas,
);
