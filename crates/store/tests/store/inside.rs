//! The token inside an instance: one a run, sealed until it is handed over.

use base::{InstanceId, Money};
use domain::instance::{Desired, State};
use domain::rights::Scope;
use sha2::{Digest, Sha256};
use store::intents::{self, Restart};
use store::secrets::Keyring;
use store::tokens::{Found, Limits};
use store::{Store, inside, instances, tokens};

use crate::db::{Db, both, write};
use crate::fixture::{at, by_renter, number, put, rent, site};

async fn waiting(store: &Store, id: &InstanceId) -> Option<String> {
    inside::to_hand_over(&mut store.read().await.unwrap(), id).await.unwrap()
}

async fn found(store: &Store, secret: &str) -> Option<Found> {
    let hash = hex::encode(Sha256::digest(secret.as_bytes()));
    tokens::by_hash(&mut store.read().await.unwrap(), &hash).await.unwrap()
}

async fn each_run_has_its_own_and_a_release_ends_it(db: &Db) {
    let store = db.store.clone().with_keys(Keyring::parse(&Keyring::generate().unwrap()).unwrap()).await.unwrap();
    let site = site(&store, 1, "100").await;
    let id = rent(&store, &site, 1).await.id;
    let first = waiting(&store, &id).await.unwrap();
    let limits = Limits {
        scopes: vec![Scope::Read, Scope::Instances],
        account: Some(site.account.clone()),
        instance: Some(id.clone()),
    };
    let token = found(&store, &first).await.unwrap();
    assert_eq!((token.user.id, token.session, token.limits), (site.user.clone(), None, Some(limits)));
    let plain = "SELECT COUNT(*) FROM api_tokens WHERE handover IS NOT NULL AND handover NOT LIKE 'enc:%'";
    assert_eq!(number(&store, plain).await, 0);
    // It is not its renter's to see.
    assert!(tokens::api_tokens(&mut store.read().await.unwrap(), &site.user).await.unwrap().is_empty());
    assert_eq!(waiting(&store, &id).await.as_deref(), Some(first.as_str()), "a repeated step hands over the same one");
    write!(store, |tx, id| inside::handed_over(tx, &id).await).unwrap();
    assert_eq!(waiting(&store, &id).await, None);
    assert!(found(&store, &first).await.is_some());

    put(&store, &id, State::Stopped, Desired::Stopped).await;
    write!(store, |tx| {
        sqlx::query("DELETE FROM holds").execute(&mut **tx).await?;
        Ok(())
    })
    .unwrap();
    let instance = instances::get(&mut store.read().await.unwrap(), &id).await.unwrap().unwrap();
    let restart = Restart { instance, hold: Money::from_micros(1) };
    write!(store, |tx, id, restart| intents::start(tx, &id, &restart, at(70)).await).unwrap();
    let second = waiting(&store, &id).await.unwrap();
    assert_ne!(second, first);
    assert!(found(&store, &first).await.is_none());
    assert!(found(&store, &second).await.is_some());

    let reason = by_renter();
    write!(store, |tx, id, reason| intents::release(tx, &id, &reason, at(90)).await).unwrap();
    assert!(found(&store, &second).await.is_none());
    assert_eq!(number(&store, "SELECT COUNT(*) FROM api_tokens").await, 0);
}

both! { each_run_has_its_own_and_a_release_ends_it }
