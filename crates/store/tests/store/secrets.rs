//! Secrets at rest: sealed, read, sealed anew; what a missing key does.

use std::collections::BTreeMap;

use base::{Cause, Money};
use store::outbox::Letter;
use store::secrets::{Keyring, rewrite, used, used_at};
use store::settings::{Mail, Settings};
use store::{Store, identities, instances, intents, outbox, settings, totp};

use crate::backup::dump;
use crate::db::{Db, both, write};
use crate::fixture::{Site, T0, at, number, site, wish};

const ENV: &str = "env-value-6f1d0c";
const START: &str = "start-word-9b77aa";

async fn secret_rent(store: &Store, site: &Site, n: u128) -> base::InstanceId {
    let mut new = wish(site, n);
    new.env.insert("TOKEN".into(), ENV.into());
    new.on_start = Some(format!("run --with {START}"));
    let id = new.id.clone();
    write!(store, |tx, new| intents::rent(tx, &new, Money::from_micros(1), None, T0).await).unwrap();
    id
}

async fn plain(store: &Store, id: &base::InstanceId) {
    let row = instances::get(&mut store.read().await.unwrap(), id).await.unwrap().unwrap();
    assert_eq!(row.env["TOKEN"], ENV);
    assert_eq!(row.on_start.unwrap(), format!("run --with {START}"));
}

async fn holds(store: &Store, word: &str) -> bool {
    String::from_utf8(dump(store).await).unwrap().contains(word)
}

async fn all(store: &Store) -> u64 {
    let (mut after, mut changed) = (String::new(), 0);
    loop {
        let progress = rewrite(store, &after).await.unwrap();
        changed += progress.changed;
        match progress.next {
            Some(next) => after = next,
            None => return changed,
        }
    }
}

async fn counts(store: &Store) -> BTreeMap<String, i64> {
    used(&mut store.read().await.unwrap()).await.unwrap()
}

fn fresh() -> String {
    Keyring::generate().unwrap()
}

fn ring(keys: &[&String]) -> Keyring {
    Keyring::parse(&keys.iter().map(|k| k.as_str()).collect::<Vec<_>>().join("\n")).unwrap()
}

async fn values_are_sealed_in_the_database_and_plain_for_callers(db: &Db) {
    let key = fresh();
    let store = db.store.clone().with_keys(ring(&[&key])).await.unwrap();
    let site = site(&store, 1, "10").await;
    let id = secret_rent(&store, &site, 1).await;
    plain(&store, &id).await;
    let found = instances::list(&mut store.read().await.unwrap(), &site.account, None, false, None, 5).await.unwrap();
    assert_eq!(found[0].env["TOKEN"], ENV);
    assert!(!holds(&store, ENV).await && !holds(&store, START).await);
    // Environment, start command, the token that is not handed over yet, and the known text.
    assert_eq!(counts(&store).await, BTreeMap::from([(ring(&[&key]).ids()[0].to_owned(), 4)]));
}

/// Expand, then contract: what an older server wrote is read, and sealed later.
async fn plain_rows_are_read_and_sealed_by_the_job(db: &Db) {
    let site = site(&db.store, 1, "10").await;
    let id = secret_rent(&db.store, &site, 1).await;
    assert!(holds(&db.store, ENV).await, "there was no key");
    let store = db.store.clone().with_keys(ring(&[&fresh()])).await.unwrap();
    plain(&store, &id).await;
    assert_eq!(all(&store).await, 1 + 1);
    assert!(!holds(&store, ENV).await && !holds(&store, START).await);
    plain(&store, &id).await;
    assert_eq!(all(&store).await, 0, "nothing is left to do");
}

async fn keys_rotate_and_old_ones_can_go(db: &Db) {
    let (old, new) = (fresh(), fresh());
    let store = db.store.clone().with_keys(ring(&[&old])).await.unwrap();
    let site = site(&store, 1, "1000").await;
    for n in 0..205 {
        secret_rent(&store, &site, n).await;
    }
    let store = store.with_keys(ring(&[&new, &old])).await.unwrap();
    let old_id = ring(&[&old]).ids()[0].to_owned();
    // It can end after any batch: what is left is found again.
    let first = rewrite(&store, "").await.unwrap();
    assert_eq!(first.changed, 200);
    assert_eq!(counts(&store).await[&old_id], 10 + 205);
    let refused = store.clone().with_keys(ring(&[&new])).await.err().unwrap();
    assert_eq!(refused.cause(), Cause::HostIncomplete);
    assert!(refused.message().contains(&old_id), "{refused}");
    assert_eq!(all(&store).await, 5 + 205);
    assert!(!counts(&store).await.contains_key(&old_id));
    assert_eq!(used_at(&db.url).await.unwrap(), counts(&store).await);
    let store = store.with_keys(ring(&[&new])).await.unwrap();
    plain(&store, &wish(&site, 7).id).await;
}

/// What people and their site keep secret is sealed, counted and rotated like the rest.
async fn secrets_of_people_and_of_the_site_rotate_too(db: &Db) {
    let (old, new) = (fresh(), fresh());
    let store = db.store.clone().with_keys(ring(&[&old])).await.unwrap();
    let user = site(&store, 1, "10").await.user;
    let settings = Settings {
        mail: Some(Mail { url: format!("smtp://u:{ENV}@m"), from: "a@b.example".into() }),
        ..Settings::default()
    };
    let letter = Letter { subject: "hello".into(), text: format!("https://x/#{ENV}") };
    write!(store, |tx, user, settings, letter| {
        settings::set(tx, &settings).await?;
        assert!(totp::prepare(tx, &user, ENV).await?);
        for _ in 0..205 {
            outbox::put(tx, "a@b.example", &letter, T0).await?;
        }
        identities::begin(tx, "lab", "hash-1", ENV, T0, at(60)).await
    })
    .unwrap();
    assert!(!holds(&store, ENV).await);
    // Settings, the factor, the mail, the flow and the known text.
    assert_eq!(counts(&store).await, BTreeMap::from([(ring(&[&old]).ids()[0].to_owned(), 1 + 1 + 205 + 1 + 1)]));
    let store = store.with_keys(ring(&[&new, &old])).await.unwrap();
    assert_eq!(all(&store).await, 1 + 205 + 1);
    assert_eq!(all(&store).await, 0);
    let id = ring(&[&new]).ids()[0].to_owned();
    assert_eq!(counts(&store).await.into_keys().collect::<Vec<_>>(), [id]);
    let mut read = store.read().await.unwrap();
    assert_eq!(settings::get(&mut read).await.unwrap(), settings);
    assert_eq!(totp::get(&mut read, &user).await.unwrap().unwrap().secret, ENV);
    drop(read);
    let mail = write!(store, |tx| outbox::claim(tx, T0, 1).await).unwrap();
    assert_eq!(mail[0].letter, letter);
    assert_eq!(write!(store, |tx| identities::take(tx, "lab", "hash-1", T0).await).unwrap().as_deref(), Some(ENV));
    assert_eq!(write!(store, |tx| identities::take(tx, "lab", "hash-1", T0).await).unwrap(), None);
}

async fn without_its_key_a_site_does_not_open(db: &Db) {
    let (right, wrong) = (fresh(), fresh());
    let store = db.store.clone().with_keys(ring(&[&right])).await.unwrap();
    // Even before anything secret was written: two servers must notice at once.
    let other = store::open(&db.url).await.unwrap();
    let refused = other.with_keys(ring(&[&wrong])).await.err().unwrap();
    assert_eq!(refused.cause(), Cause::HostIncomplete);
    assert!(refused.hint_text().unwrap().contains("--secret-key"), "{refused}");
    assert_eq!(number(&store, "SELECT COUNT(*) FROM site WHERE key = 'secrets'").await, 1);
    store::open(&db.url).await.unwrap().with_keys(ring(&[&right])).await.unwrap();
}

async fn a_moved_value_does_not_open(db: &Db) {
    let store = db.store.clone().with_keys(ring(&[&fresh()])).await.unwrap();
    let site = site(&store, 1, "10").await;
    let (one, two) = (secret_rent(&store, &site, 1).await, secret_rent(&store, &site, 2).await);
    let mut raw = store.read().await.unwrap();
    sqlx::query("UPDATE instances SET env = (SELECT env FROM instances WHERE id = $1) WHERE id = $2")
        .bind(one.as_str())
        .bind(two.as_str())
        .execute(&mut *raw)
        .await
        .unwrap();
    let error = base::Error::from(instances::get(&mut raw, &two).await.unwrap_err());
    assert_eq!(error.cause(), Cause::Internal);
    assert!(!format!("{error:?}").contains(ENV));
}

both!(
    values_are_sealed_in_the_database_and_plain_for_callers,
    plain_rows_are_read_and_sealed_by_the_job,
    keys_rotate_and_old_ones_can_go,
    secrets_of_people_and_of_the_site_rotate_too,
    without_its_key_a_site_does_not_open,
    a_moved_value_does_not_open,
);
