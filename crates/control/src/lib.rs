//! Controllers: they move the world to what the store intends, and are the only
//! callers of engines.
//!
//! One folder per object, one file per state. A step looks at one object, does at
//! most one thing outside, and returns; trying again is the next activation.
//! Everything is generic over the clock and the engine, so that a simulation runs
//! exactly this code.

pub mod account;
pub mod clock;
pub mod engines;
pub mod events;
pub mod instance;
pub mod metrics;
pub mod node;
pub mod retention;
pub mod segment;
#[cfg(feature = "testing")]
pub mod testing;
pub mod worker;

use std::sync::Arc;

use engine::Engine;
use store::Store;

pub use clock::{Clock, SystemClock};
pub use engines::Engines;

/// What every controller needs. Cheap to clone.
pub struct Control<C, E> {
    /// The database.
    pub store: Store,
    /// The time.
    pub clock: Arc<C>,
    /// The engine of each node.
    pub engines: Arc<Engines<E>>,
    /// What happened, counted.
    pub metrics: Arc<metrics::Metrics>,
    /// One placement at a time in this process, so that two steps do not count the same free CPU.
    pub(crate) placing: Arc<tokio::sync::Mutex<()>>,
}

impl<C, E> Clone for Control<C, E> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            clock: self.clock.clone(),
            engines: self.engines.clone(),
            metrics: self.metrics.clone(),
            placing: self.placing.clone(),
        }
    }
}

impl<C: Clock, E: Engine> Control<C, E> {
    /// Controllers over a store, a clock and no engines yet.
    pub fn new(store: Store, clock: Arc<C>) -> Self {
        Self {
            store,
            clock,
            engines: Arc::new(Engines::default()),
            metrics: Arc::new(metrics::Metrics::default()),
            placing: Arc::new(tokio::sync::Mutex::new(())),
        }
    }
}
