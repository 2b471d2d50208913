//! The time, as an argument from outside.

use std::future::Future;
use std::time::{Duration, Instant};

use base::Timestamp;

/// A source of time that a simulation can replace.
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Timestamp;

    /// Ends at `until`, or at once when that has passed.
    fn sleep_until(&self, until: Timestamp) -> impl Future<Output = ()> + Send;
}

/// The system's time when the process began, plus monotonic time since: a step
/// of the wall clock never reaches a bill.
#[derive(Debug)]
pub struct SystemClock {
    wall: Timestamp,
    began: Instant,
}

impl SystemClock {
    /// Begins now.
    pub fn start() -> Self {
        Self { wall: wall_clock(), began: Instant::now() }
    }

    /// How far the wall clock has moved away from this clock since the start, microseconds.
    pub fn step_us(&self) -> i64 {
        wall_clock().since(self.now()).micros()
    }
}

#[allow(clippy::disallowed_methods, reason = "the one place where the server reads the wall clock")]
fn wall_clock() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX);
        self.wall.after(base::Span::from_micros(since))
    }

    async fn sleep_until(&self, until: Timestamp) {
        let micros = u64::try_from(until.since(self.now()).micros()).unwrap_or(0);
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }
}
