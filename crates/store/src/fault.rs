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
        // PostgreSQL: serialization failure, deadlock, stood still for too long. SQLite: busy, locked.
        matches!(error.code().as_deref(), Some("40001" | "40P01" | "25P03" | "5" | "6" | "261" | "517"))
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::App(error) | Fault::Again(error) => error,
            Fault::Sql(e) => trouble(&e).unwrap_or_else(|| Error::internal(e)),
        }
    }
}

/// What is told of trouble that passes without a change of the program: the
/// database is away, or the disk below it does not take what is written.
pub(crate) fn trouble(error: &sqlx::Error) -> Option<Error> {
    let away = ("the database cannot be reached now", "try again in a moment");
    let (message, hint) = match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => away,
        sqlx::Error::Database(e) => {
            let code = e.code()?;
            match code.len() {
                // PostgreSQL's have five characters, SQLite's are small numbers.
                5 => postgres(&code)?,
                _ => sqlite(code.parse().ok()?)?,
            }
        }
        _ => return None,
    };
    Some(Error::new(Cause::Unavailable, message).hint(hint).context(error))
}

const FULL: (&str, &str) = (
    "the server's disk is full: reading goes on, nothing new can be written",
    "nothing that was confirmed is lost; the operator has to make room, then it goes on by itself",
);
const READ_ONLY: (&str, &str) = (
    "the server's database is read-only: reading goes on, nothing new can be written",
    "nothing that was confirmed is lost; the operator has to look at the disk and at the rights of the database's folder",
);
const FAILS: (&str, &str) = (
    "the server's disk does not take what is written",
    "nothing that was confirmed is lost; the operator has to look at the disk",
);

fn sqlite(code: u32) -> Option<(&'static str, &'static str)> {
    // The lower eight bits are the kind, the others its details.
    match code & 0xff {
        5 | 6 => Some(("the database is held by another program", "try again in a moment")),
        8 => Some(READ_ONLY),
        10 => Some(FAILS),
        13 => Some(FULL),
        14 => Some((
            "the server's database file cannot be opened",
            "the operator has to look at the disk and at the rights of the database's folder",
        )),
        _ => None,
    }
}

fn postgres(code: &str) -> Option<(&'static str, &'static str)> {
    match (code.get(..2)?, code) {
        (_, "53100") => Some(FULL),
        (_, "25006") => Some(READ_ONLY),
        ("58", _) => Some(FAILS),
        ("08" | "53", _) | (_, "25P03" | "57P01" | "57P02" | "57P03" | "57P05") => {
            Some(("the database cannot be reached now", "try again in a moment"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_that_passes_is_told_from_mistakes_of_the_program() {
        // FULL, IOERR_WRITE, READONLY, READONLY_DIRECTORY, BUSY, CANTOPEN.
        assert!([13, 778, 8, 1544, 5, 14].into_iter().all(|code| sqlite(code).is_some()));
        // ERROR, CONSTRAINT_UNIQUE, CORRUPT.
        assert!([1, 2067, 11].into_iter().all(|code| sqlite(code).is_none()));
        assert!(["57P01", "08006", "53300", "53100", "25006", "58030"].into_iter().all(|c| postgres(c).is_some()));
        // unique_violation, syntax_error, query_canceled.
        assert!(["23505", "42601", "57014"].into_iter().all(|code| postgres(code).is_none()));
        assert_eq!(sqlite(13), postgres("53100"));
    }
}
