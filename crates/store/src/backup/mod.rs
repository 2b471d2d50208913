//! Backup and restore: every table as lines of JSON, the same text from both
//! databases, restorable into either.
//!
//! The first line says what it is ([`Header`]). Each table follows as one line with
//! its name and columns and one JSON array a row, in the order of its key. The last
//! line ([`End`]) has the number of rows and the SHA-256 of everything before it: a
//! file without it is not whole.

mod dump;
mod restore;
mod tables;

use std::collections::BTreeMap;

use base::Timestamp;
use serde::{Deserialize, Serialize};

pub use dump::stream;
pub use restore::{Restored, restore};
pub use tables::{Column, Kind, Table, tables};

/// The form that is written and understood.
pub const FORM: i64 = 1;

/// First line of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// See [`FORM`].
    pub suanli_backup: i64,
    /// Last migration of the database.
    pub schema: i64,
    /// Version of the server that wrote it.
    pub server: String,
    /// When.
    pub made_at: Timestamp,
}

/// Begins a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Begin {
    table: String,
    columns: Vec<String>,
}

/// What the last line holds under `end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Rows by table.
    pub rows: BTreeMap<String, i64>,
    /// SHA-256 of every byte before this line, hex.
    pub sha256: String,
}

/// Last line of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Last {
    end: End,
}
