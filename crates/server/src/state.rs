//! What every route can use.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use base::{Result, Timestamp};
use billing::PriceBook;
use control::metrics::Metrics;
use control::{Clock, SystemClock};
use deliver::Way;
use domain::catalogue::Catalogue;
use openidconnect::core::CoreProviderMetadata;
use store::Store;
use store::settings::Settings;

use crate::known::Known;
use crate::limits::{Guard, Limits};
use crate::observed::Observed;
use crate::reach::Reach;
use crate::sessions::Sessions;
use crate::standing::Present;
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
    /// How mail leaves.
    pub way: Arc<Way>,
    /// The operator's program that finds out who somebody is.
    pub identity_command: Option<Arc<std::path::PathBuf>>,
    http: Arc<std::sync::OnceLock<deliver::http::Http>>,
    /// When tokens were noted as used.
    pub(crate) sessions: Arc<Sessions>,
    /// What sign-in providers have said of themselves.
    pub(crate) providers: Arc<Known<CoreProviderMetadata>>,
    /// Who has a stream open.
    pub(crate) present: Arc<Present>,
    /// Names of operations by method and path, for the audit log.
    pub(crate) actions: Arc<BTreeMap<(String, String), String>>,
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
            way: Arc::default(),
            identity_command: None,
            http: Arc::default(),
            sessions: Arc::default(),
            providers: Arc::new(Known::for_span(crate::oidc::KNOWN_FOR)),
            present: Arc::default(),
            actions: Arc::default(),
            hashing: Arc::new(tokio::sync::Semaphore::new(2)),
            book: Arc::new(RwLock::new(Arc::new(book))),
        }
    }

    /// The same server with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { guard: Arc::new(Guard::new(limits)), ..self }
    }

    /// The same server whose mail leaves in another way.
    #[must_use]
    pub fn with_way(self, way: Way) -> Self {
        Self { way: Arc::new(way), ..self }
    }

    /// The same server with a program that finds out who somebody is.
    #[must_use]
    pub fn with_identity_command(self, command: Option<std::path::PathBuf>) -> Self {
        Self { identity_command: command.map(Arc::new), ..self }
    }

    /// What the operator has set.
    ///
    /// # Errors
    /// The database's.
    pub async fn settings(&self) -> Result<Settings> {
        let mut db = self.store.read().await?;
        Ok(store::settings::get(&mut db).await?)
    }

    /// Asks services that the operator has named.
    ///
    /// # Errors
    /// `host-incomplete` where this machine trusts no certificate authority.
    pub fn http(&self) -> Result<deliver::http::Http> {
        if let Some(http) = self.http.get() {
            return Ok(http.clone());
        }
        let made = deliver::http::Http::new()?;
        Ok(self.http.get_or_init(|| made).clone())
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
