//! What the operator does not want to keep any longer is removed.

use base::Span;
use control::{Clock, retention};
use store::audit_log::{self, Actor, ActorKind, Deed, Ended};

use crate::world::World;

async fn record(w: &World) {
    let now = w.control.clock.now();
    w.control
        .store
        .write(move |tx| {
            let actor = Actor { kind: ActorKind::System, id: None, name: None, address: None, request: None };
            let deed = Deed {
                action: "swept".into(),
                object: None,
                account: None,
                ended: Ended::Done,
                code: None,
                was: None,
                became: None,
            };
            Box::pin(async move {
                audit_log::record(tx, now, &actor, &deed).await?;
                audit_log::chain(tx).await
            })
        })
        .await
        .unwrap();
}

async fn keep(w: &World, days: Option<i64>) {
    w.control.store.write(move |tx| Box::pin(audit_log::set_keep_days(tx, days))).await.unwrap();
}

#[tokio::test]
async fn entries_of_the_audit_log_go_when_their_time_is_over() {
    let mut w = World::new(&[1]).await;
    let begun = w.control.clock.now();
    for day in 0..5 {
        w.run_until(begun.after(Span::from_hours(24 * day))).await;
        record(&w).await;
    }
    assert_eq!(retention::audit_log(&w.control).await.unwrap(), 0, "for ever by default");
    keep(&w, Some(2)).await;
    assert_eq!(retention::audit_log(&w.control).await.unwrap(), 2);
    assert_eq!(retention::audit_log(&w.control).await.unwrap(), 0);
    let checked = audit_log::check(&mut w.control.store.read().await.unwrap()).await.unwrap();
    assert_eq!((checked.entries, checked.broken_at), (3, None));
    keep(&w, None).await;
    w.run_until(begun.after(Span::from_hours(24 * 9))).await;
    assert_eq!(retention::audit_log(&w.control).await.unwrap(), 0);
}
