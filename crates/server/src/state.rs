//! What every route can use.

use std::sync::{Arc, PoisonError, RwLock};

use base::Timestamp;
use billing::PriceBook;
use control::metrics::Metrics;
use control::{Clock, SystemClock};
use domain::catalogue::Catalogue;
use store::Store;

use crate::limits::{Guard, Limits};
use crate::observed::Observed;
use crate::reach::Reach;
use crate::stock::StockCache;

/// The server's state, shared by cloning.
#[derive(Clone)]
pub struct App {
    /// The database.
    pub store: Store,
    /// The time.
    pub clock: Arc<SystemClock>,
    /// Streams into instances and their current use.
    pub reach: Arc<dyn Reach>,
    /// Counters of the controllers, for `/metrics`.
    pub counts: Arc<Metrics>,
    /// The GPU models that are known.
    pub catalogue: &'static Catalogue,
    /// Who asks how often.
    pub guard: Arc<Guard>,
    /// What this process counts of itself.
    pub observed: Arc<Observed>,
    /// Offers as they were counted last.
    pub(crate) stock: Arc<StockCache>,
    /// Passwords that may be hashed at the same time: hashing is slow by design.
    pub(crate) hashing: Arc<tokio::sync::Semaphore>,
    book: Arc<RwLock<Arc<PriceBook>>>,
}

impl App {
    /// A server over these parts, with this price book in force.
    pub fn new(
        store: Store,
        clock: Arc<SystemClock>,
        reach: Arc<dyn Reach>,
        counts: Arc<Metrics>,
        book: PriceBook,
    ) -> Self {
        Self {
            store,
            clock,
            reach,
            counts,
            catalogue: Catalogue::builtin(),
            guard: Arc::new(Guard::new(Limits::default())),
            observed: Arc::default(),
            stock: Arc::default(),
            hashing: Arc::new(tokio::sync::Semaphore::new(2)),
            book: Arc::new(RwLock::new(Arc::new(book))),
        }
    }

    /// The same server with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { guard: Arc::new(Guard::new(limits)), ..self }
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The price book in force.
    pub fn book(&self) -> Arc<PriceBook> {
        self.book.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts another price book in force.
    pub fn set_book(&self, book: PriceBook) {
        *self.book.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(book);
        self.stock.forget();
    }
}
