//! Price books that were in force.

use base::Timestamp;
use sqlx::{AnyConnection, Row};

use crate::row::time;
use crate::{Outcome, Tx};

/// A loaded price book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBook {
    /// Version made from its content.
    pub version: String,
    /// Its TOML text.
    pub text: String,
    /// When it was loaded (last).
    pub loaded_at: Timestamp,
}

/// Makes a book the one in force.
pub async fn load(tx: &mut Tx<'_>, version: &str, text: &str, now: Timestamp) -> Outcome<()> {
    sqlx::query(
        "INSERT INTO price_books (version, text, loaded_at) VALUES ($1, $2, $3)
         ON CONFLICT (version) DO UPDATE SET loaded_at = excluded.loaded_at",
    )
    .bind(version)
    .bind(text)
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The book in force: the one loaded last.
pub async fn current(db: &mut AnyConnection) -> Outcome<Option<StoredBook>> {
    let row = sqlx::query("SELECT version, text, loaded_at FROM price_books ORDER BY loaded_at DESC LIMIT 1")
        .fetch_optional(db)
        .await?;
    row.map(|row| {
        Ok(StoredBook {
            version: row.try_get("version")?,
            text: row.try_get("text")?,
            loaded_at: time(&row, "loaded_at")?,
        })
    })
    .transpose()
}
