//! Time that stands still until somebody moves it.

use base::{Span, Timestamp};
use tokio::sync::watch;

use crate::Clock;

/// A clock that is set by hand.
#[derive(Debug)]
pub struct SimClock {
    now: watch::Sender<Timestamp>,
}

impl SimClock {
    /// Stands at `now`.
    pub fn at(now: Timestamp) -> Self {
        Self { now: watch::Sender::new(now) }
    }

    /// Moves to `now` and wakes who slept until then or before; never back.
    pub fn set(&self, now: Timestamp) {
        self.now.send_modify(|old| *old = now.max(*old));
    }

    /// Moves on by `span`.
    pub fn advance(&self, span: Span) {
        self.set(self.now().after(span));
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        *self.now.borrow()
    }

    async fn sleep_until(&self, until: Timestamp) {
        // The sender is `self`, so it cannot be gone.
        let _ = self.now.subscribe().wait_for(|now| *now >= until).await;
    }
}
