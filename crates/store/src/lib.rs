//! The only SQL of the product, for SQLite and PostgreSQL alike.
//!
//! Reads go to a pool. Writes go through [`Store::write`]: one transaction per
//! call, tried again when the database asks for it; on SQLite all writes of the
//! process share one connection and one commit where they arrive together.
//!
//! Invariant: no function here reads a clock. Instants come in as arguments.

pub mod accounts;
pub mod allocations;
pub mod audit;
pub mod audit_log;
pub mod backup;
pub mod events;
mod fault;
pub mod fleet;
pub mod health;
pub mod idempotency;
pub mod identities;
pub mod incidents;
pub mod inside;
pub mod instances;
pub mod intents;
pub mod invitations;
pub mod lease;
pub mod mail_links;
pub mod members;
pub mod nodes;
pub mod outbox;
pub mod postings;
pub mod prices;
pub mod profiles;
pub mod quotas;
pub mod recovery;
mod row;
pub mod schema;
pub mod secrets;
pub mod segments;
pub mod settings;
pub mod settlement;
pub mod site;
pub mod ssh_keys;
pub mod standing;
#[cfg(feature = "testing")]
pub mod testing;
pub mod timing;
pub mod tokens;
pub mod totp;
pub mod users;
mod words;
mod write;

use std::time::Duration;

use base::{Error, Result};
pub use fault::{Fault, Outcome};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyConnection, AnyPool};
pub use write::{Store, Tx};

/// Which database speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// One file, one process.
    Sqlite,
    /// Any number of processes.
    Postgres,
}

/// Opens the database at `url` (`sqlite:///path/file.db` or `postgres://…`),
/// making a SQLite file that is missing, and brings its schema up to date.
///
/// # Errors
/// The database cannot be reached, needs a newer server, or a migration fails.
pub async fn open(url: &str) -> Result<Store> {
    sqlx::any::install_default_drivers();
    let dialect = dialect(url)?;
    let url = match dialect {
        Dialect::Sqlite if !url.contains('?') => format!("{url}?mode=rwc"),
        _ => url.to_owned(),
    };
    let options: AnyConnectOptions =
        url.parse().map_err(|e: sqlx::Error| Error::from(Fault::from(e)).context("database address"))?;
    let pool = AnyPoolOptions::new()
        .max_connections(if dialect == Dialect::Sqlite { 4 } else { 16 })
        .acquire_timeout(Duration::from_secs(10))
        .after_connect(move |connection, _| Box::pin(prepare(connection, dialect)))
        .connect_with(options.clone())
        .await
        .map_err(|e| Error::from(Fault::from(e)).context("opening the database"))?;
    let mut connection = pool.acquire().await.map_err(|e| Error::from(Fault::from(e)))?;
    schema::migrate(&mut connection, None).await?;
    schema::check_server(&mut connection, schema::SERVER).await?;
    drop(connection);
    Ok(Store::new(pool, dialect, options))
}

/// Which database an address means.
pub(crate) fn dialect(url: &str) -> Result<Dialect> {
    match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("sqlite") => Ok(Dialect::Sqlite),
        Some("postgres" | "postgresql") => Ok(Dialect::Postgres),
        _ => Err(Error::new(base::Cause::InvalidRequest, "the database address is not understood")
            .hint("use sqlite:///path/to/file.db or postgres://user:password@host/name")),
    }
}

/// How long a transaction may stand still on PostgreSQL. A server that froze in the
/// middle of one must not hold its rows against all others; it is told when it goes on.
const STANDSTILL: &str = "SET idle_in_transaction_session_timeout = '5s'";

async fn prepare(connection: &mut AnyConnection, dialect: Dialect) -> sqlx::Result<()> {
    if dialect == Dialect::Postgres {
        sqlx::query(STANDSTILL).execute(&mut *connection).await?;
    }
    if dialect == Dialect::Sqlite {
        // FULL: what was acknowledged survives a power cut; group commit pays for it.
        for pragma in [
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = FULL",
            "PRAGMA foreign_keys = ON",
            "PRAGMA busy_timeout = 10000",
            "PRAGMA cache_size = -65536",
        ] {
            sqlx::query(pragma).execute(&mut *connection).await?;
        }
    }
    Ok(())
}

/// The pool that reads go to.
pub(crate) type Pool = AnyPool;

/// What the running instances of an account have used beyond what is posted, up
/// to `now`: proven or not, so that a start is never granted on money that is
/// about to be spent.
///
/// # Errors
/// The database's.
pub async fn accounts_used(
    db: &mut AnyConnection,
    account: &base::AccountId,
    now: base::Timestamp,
) -> Outcome<base::Money> {
    let mut used = base::Money::ZERO;
    for segment in segments::unsettled_of(db, account).await? {
        let until = segment.to.unwrap_or(now);
        used = used.plus(billing::segment::due(segment.from, segment.rate, until, segment.posted)?)?;
    }
    Ok(used)
}
