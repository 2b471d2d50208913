//! What can go wrong inside a transaction, before it becomes a [`base::Error`].

use base::{Cause, Error};

/// Result of one statement or of a piece of a transaction.
pub type Outcome<T> = Result<T, Fault>;

/// An application refusal, or trouble with the database.
#[derive(Debug)]
pub enum Fault {
    /// The caller's own refusal: the transaction is rolled back and the error handed on.
    App(Error),
    /// Lost against another transaction of the same moment: tried again, and the
    /// caller sees this error only when that never helps.
    Again(Error),
    /// The database's. Deadlocks and serialization failures are tried again.
    Sql(sqlx::Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::App(error)
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl Fault {
    /// Whether trying the same transaction again may succeed at once.
    pub(crate) fn is_transient(&self) -> bool {
        let error = match self {
            Self::Again(_) => return true,
            Self::Sql(sqlx::Error::Database(error)) => error,
            Self::App(_) | Self::Sql(_) => return false,
        };
        // PostgreSQL: serialization failure, deadlock. SQLite: busy, locked.
        matches!(error.code().as_deref(), Some("40001" | "40P01" | "5" | "6" | "261" | "517"))
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::App(error) | Fault::Again(error) => error,
            Fault::Sql(sqlx::Error::Database(e)) if e.message().contains("disk is full") => {
                Error::new(Cause::Unavailable, "the server's disk is full")
                    .hint("the operator has to make room; nothing was lost")
                    .context(e)
            }
            Fault::Sql(e @ (sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed)) => {
                Error::new(Cause::Unavailable, "the database cannot be reached now")
                    .hint("try again in a moment")
                    .context(e)
            }
            Fault::Sql(e) => Error::internal(e),
        }
    }
}
