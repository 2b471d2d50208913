//! Waiting for what comes true without telling.

use std::time::{Duration, Instant};

/// How long anything may take on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(60);

/// Looks again and again until `look` finds something, at most a minute.
///
/// # Panics
/// It never does; `what` names it.
pub fn soon<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, look)
}

/// Waits until `done` holds, at most a minute.
///
/// # Panics
/// It never does; `what` names it.
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    soon(what, || done().then_some(()));
}

/// As [`eventually`], at most so many seconds.
///
/// # Panics
/// It never does; `what` names it.
pub fn eventually_within(seconds: u64, what: &str, mut done: impl FnMut() -> bool) {
    within(Duration::from_secs(seconds), what, || done().then_some(()));
}

fn within<T>(patience: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < patience, "it never came true that {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
