//! Sends what is in the outbox, until its future is dropped.

use std::sync::Arc;
use std::time::Duration;

use base::{Result, Span, Timestamp};
use futures_util::FutureExt;
use futures_util::future::join_all;
use store::Store;
use store::outbox::{self, Claimed};
use store::settings::{self, Settings};

use crate::Way;

/// Messages that are sent at the same time.
const AT_ONCE: i64 = 4;

/// Longest that the outbox is not looked at, and the pause after trouble.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
const REST: Duration = Duration::from_secs(2);

/// How long it is kept that a mail was sent.
const KEPT: Span = Span::from_hours(24 * 30);

/// The time, as the server knows it.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Sends mail as it comes.
pub async fn run(store: Store, way: Way, now: Now) {
    let mut written = store.watch();
    loop {
        written.mark_unchanged();
        let pause = match round(&store, &way, &now).await {
            Ok(0) => until_due(&store, &now).await,
            Ok(_) => continue,
            Err(error) => {
                tracing::error!(%error, "the outbox cannot be looked at; trying again");
                REST
            }
        };
        // Every write wakes this; most do not concern mail, so it looks at most that often.
        tokio::select! {
            _ = written.changed() => tokio::time::sleep(Duration::from_millis(50)).await,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn until_due(store: &Store, now: &Now) -> Duration {
    let next = async {
        let mut db = store.read().await?;
        outbox::next_due(&mut db).await.map_err(base::Error::from)
    };
    match next.await {
        Ok(Some(due)) => {
            let wait = u64::try_from(due.since(now()).millis().max(0)).unwrap_or(u64::MAX);
            // Due and not to be claimed: somebody else has it.
            Duration::from_millis(wait).clamp(REST, LOOK_AGAIN)
        }
        _ => LOOK_AGAIN,
    }
}

/// Sends what is due now, as much as is sent at once; how much that was.
///
/// # Errors
/// The database's. A message that does not leave is no error: it is tried again.
pub async fn round(store: &Store, way: &Way, now: &Now) -> Result<usize> {
    let settings = {
        let mut db = store.read().await?;
        let due = outbox::next_due(&mut db).await.map_err(base::Error::from)?;
        if due.is_none_or(|due| due > now()) {
            return Ok(0);
        }
        settings::get(&mut db).await.map_err(base::Error::from)?
    };
    let at = now();
    let claimed = store
        .write(move |tx| {
            async move {
                outbox::retain(tx, at.before(KEPT)).await?;
                outbox::claim(tx, at, AT_ONCE).await
            }
            .boxed()
        })
        .await?;
    let sent = claimed.iter().map(|message| one(store, way, &settings, message, now));
    for done in join_all(sent).await {
        done?;
    }
    Ok(claimed.len())
}

async fn one(store: &Store, way: &Way, settings: &Settings, message: &Claimed, now: &Now) -> Result<()> {
    let done = way.send(settings, message).await;
    let at = now();
    match done {
        Ok(()) => {
            tracing::info!(message = %message.id, "a mail has left");
            let message = message.clone();
            let write = store.write(move |tx| {
                let message = message.clone();
                async move { outbox::sent(tx, &message, at).await }.boxed()
            });
            write.await.map(drop)
        }
        Err(failure) => {
            tracing::warn!(message = %message.id, why = failure.why, hopeless = failure.hopeless, "a mail did not leave");
            let message = message.clone();
            store
                .write(move |tx| {
                    let (message, failure) = (message.clone(), failure.clone());
                    async move { outbox::failed(tx, &message, &failure.why, failure.hopeless, at).await }.boxed()
                })
                .await
                .map(drop)
        }
    }
}
