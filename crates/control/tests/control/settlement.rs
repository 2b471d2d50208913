//! Many segments settled at once come to what they come to one by one.

use base::Span;
use billing::ledger::{Book, Posting, PostingKind};
use control::segment::settle_due;
use control::worker;
use futures_util::FutureExt;
use store::lease::Kind;
use store::postings;

use crate::world::{World, clock, money, want};

/// Three instances that ran for ten minutes and wait for their settlement.
async fn three_wait() -> (World, Vec<base::InstanceId>) {
    let mut w = World::new(&[3]).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(w.run(&want("3.20")).await);
    }
    w.run_for(Span::from_secs(600)).await;
    for id in &ids {
        w.stop(id).await;
    }
    w.hear().await;
    (w, ids)
}

#[tokio::test]
async fn many_come_to_the_same_as_one_by_one() {
    let (mut together, _) = three_wait().await;
    assert_eq!(settle_due(&together.control).await.unwrap(), 3);
    assert_eq!(settle_due(&together.control).await.unwrap(), 0, "each once");
    let (mut single, _) = three_wait().await;
    single.settle().await;
    assert!(single.charged().await.is_positive());
    assert_eq!(together.charged().await, single.charged().await);
    for w in [&mut together, &mut single] {
        w.run_for(Span::from_secs(60)).await;
        w.check_at_peace().await;
    }
}

#[tokio::test]
async fn what_is_not_proven_yet_is_posted_later() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.20")).await;
    w.run_for(Span::from_secs(60)).await;
    w.engine().set_reachable(false);
    w.clock.advance(Span::from_secs(60));
    w.stop(&id).await;
    assert_eq!(settle_due(&w.control).await.unwrap(), 1);
    let early = w.charged().await;
    let waiting = w.segments(&id).await.remove(0);
    assert!(early.is_positive() && waiting.due_at.is_some_and(|due| due > w.now()));
    w.engine().set_reachable(true);
    w.hear().await;
    assert_eq!(settle_due(&w.control).await.unwrap(), 1);
    assert!(w.charged().await > early);
    assert_eq!(w.segments(&id).await.remove(0).due_at, None);
    w.check().await;
}

#[tokio::test]
async fn what_is_never_proven_is_given_up_with_an_incident() {
    let mut w = World::new(&[1]).await;
    let id = w.run(&want("3.20")).await;
    w.engine().set_reachable(false);
    w.clock.advance(Span::from_hours(1));
    w.stop(&id).await;
    w.clock.advance(Span::from_hours(25));
    assert_eq!(settle_due(&w.control).await.unwrap(), 1);
    let segment = w.segments(&id).await.remove(0);
    assert_eq!((segment.due_at, segment.closed_by.as_deref()), (None, Some("never-proven")));
    assert!(segment.to.is_some_and(|to| to < clock("10:05:00")));
    assert_eq!(w.incidents("evidence-never-came").await.len(), 1);
    w.check().await;
}

#[tokio::test]
async fn one_that_cannot_be_settled_does_not_hold_the_others() {
    let (w, ids) = three_wait().await;
    let broken = w.segments(&ids[1]).await.remove(0);
    // Its charge is in the ledger already, and the segment does not know.
    let posting = Posting {
        debit: Book::Balance(w.account.clone()),
        credit: Book::Revenue("device".into()),
        amount: money("0.01"),
        kind: PostingKind::Charge,
        cause: format!("charge:{}:{}", broken.id, broken.to.unwrap().micros()),
        at: w.now(),
        segment: Some(broken.id.clone()),
        price_version: None,
    };
    let payer = w.account.clone();
    w.store
        .write(move |tx| {
            let (posting, payer) = (posting.clone(), payer.clone());
            async move { postings::post(tx, &posting, &payer, None).await }.boxed()
        })
        .await
        .unwrap();
    assert!(settle_due(&w.control).await.is_err());
    // The worker goes on one by one; simulated time stands still, so it sleeps for ever then.
    let settled = async {
        loop {
            let mut due = 0;
            for id in &ids {
                due += w.segments(id).await.iter().filter(|s| s.due_at.is_some()).count();
            }
            if due == 1 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = worker::run(w.control.clone(), Kind::Segments) => panic!("the worker ended"),
        done = tokio::time::timeout(std::time::Duration::from_secs(20), settled) => done.unwrap(),
    }
    assert!(w.segments(&ids[1]).await.remove(0).due_at.is_some(), "the broken one waits for somebody to look");
    assert!(w.charged().await > money("1"), "the others are charged");
}
