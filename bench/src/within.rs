//! A measurement that ends in time or when it is told to, so that whoever began
//! it can clear up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::{Cause, Error, Result};
use tokio::signal::unix::{SignalKind, signal};

/// How long one measurement may take.
const PATIENCE: Duration = Duration::from_secs(150);

static TOLD_TO_END: AtomicBool = AtomicBool::new(false);

/// Whether a signal broke a measurement off: then no other one begins.
pub fn told_to_end() -> bool {
    TOLD_TO_END.load(Ordering::Relaxed)
}

/// Runs `measure` until it is done, until its time is over, or until SIGINT or SIGTERM.
///
/// # Errors
/// The measurement's, or why it was broken off.
pub async fn within<T>(measure: impl Future<Output = Result<T>>) -> Result<T> {
    limited(PATIENCE, measure).await
}

/// The same for a measurement that takes long by its nature.
///
/// # Errors
/// As [`within`].
pub async fn limited<T>(patience: Duration, measure: impl Future<Output = Result<T>>) -> Result<T> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::internal)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::internal)?;
    let why = tokio::select! {
        done = measure => return done,
        () = tokio::time::sleep(patience) => format!("it took longer than {patience:?}"),
        _ = interrupt.recv() => interrupted(),
        _ = terminate.recv() => interrupted(),
    };
    Err(Error::new(Cause::Unavailable, why))
}

fn interrupted() -> String {
    TOLD_TO_END.store(true, Ordering::Relaxed);
    "it was told to end".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_measurement_that_hangs_is_broken_off() {
        let hangs = std::future::pending::<Result<()>>();
        assert!(limited(Duration::from_millis(20), hangs).await.is_err());
        assert_eq!(within(async { Ok(7) }).await.unwrap(), 7);
    }
}
