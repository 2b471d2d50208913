//! A server with limits of its own, on a port of this machine.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use server::limits::{Limits, Rate};
use server::observed::{Limit, Observed, Open};
use server::{App, listen};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::site::Site;

/// Longest that anything here is waited for; only a failure takes that long.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Served {
    pub address: SocketAddr,
    pub observed: Arc<Observed>,
    ending: watch::Sender<bool>,
    serving: JoinHandle<base::Result<()>>,
}

/// Limits that no test reaches unless it means to.
pub fn generous() -> Limits {
    Limits {
        head: PATIENCE,
        answer: PATIENCE,
        stalled: PATIENCE,
        per_token: Rate::NONE,
        per_address: Rate::NONE,
        ..Limits::default()
    }
}

impl Served {
    pub async fn new(site: &Site, limits: Limits) -> Self {
        Self::of(site.app.clone(), limits).await
    }

    pub async fn of(app: App, limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = app.with_limits(limits.clone());
        let observed = app.observed.clone();
        let (ending, ended) = watch::channel(false);
        let serving = tokio::spawn(listen::serve(listener, server::router(app), limits, observed.clone(), ended));
        Self { address, observed, ending, serving }
    }

    /// Ends it in order: every request that is being answered is answered.
    pub async fn end(self) {
        self.ending.send(true).unwrap();
        within(self.serving).await.unwrap().unwrap();
    }

    /// Ends it at once, whatever is open.
    pub fn end_without_waiting(self) {
        self.serving.abort();
    }

    pub async fn until_open(&self, what: Open, count: i64) {
        until(|| self.observed.open(what) == count).await;
    }

    pub async fn until_limited(&self, limit: Limit, times: u64) {
        until(|| self.observed.times_limited(limit) >= times).await;
    }
}

/// Waits for something that has to come.
pub async fn within<F: Future>(what: F) -> F::Output {
    tokio::time::timeout(PATIENCE, what).await.expect("it never came")
}

/// Waits until something holds that nothing tells of.
pub async fn until(holds: impl Fn() -> bool) {
    within(async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
