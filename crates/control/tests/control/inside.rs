//! The token inside an instance reaches its machine, and is nowhere else then.

use sha2::{Digest, Sha256};
use store::{inside, tokens};

use crate::world::{World, want};

#[tokio::test]
async fn a_run_gets_its_token_and_the_next_one_another() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.20")).await;
    let known = async |w: &World, secret: &str| {
        let hash = hex::encode(Sha256::digest(secret.as_bytes()));
        let found = tokens::by_hash(&mut w.control.store.read().await.unwrap(), &hash).await.unwrap();
        found.and_then(|f| f.limits).and_then(|l| l.instance)
    };
    let first = w.engine().token(&id).unwrap();
    assert_eq!(known(&w, &first).await, Some(id.clone()));
    assert_eq!(inside::to_hand_over(&mut w.control.store.read().await.unwrap(), &id).await.unwrap(), None);
    w.stop(&id).await;
    w.settle().await;
    w.start(&id).await;
    w.settle().await;
    let second = w.engine().token(&id).unwrap();
    assert_eq!((known(&w, &first).await, known(&w, &second).await), (None, Some(id.clone())));
    w.stop(&id).await;
    w.settle().await;
    w.release(&id).await;
    w.settle().await;
    assert_eq!(known(&w, &second).await, None);
}
