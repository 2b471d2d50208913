//! When to end: the first SIGTERM or SIGINT.

use std::future::Future;

use base::{Error, Result};
use tokio::signal::unix::{SignalKind, signal};

/// Ends at the first SIGTERM or SIGINT after this call.
///
/// # Errors
/// The signals cannot be watched.
pub fn ended() -> Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::internal)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::internal)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
