//! Values that belong to the site as a whole, one a key.

use sqlx::{AnyConnection, Row};

use crate::{Outcome, Tx};

/// The value of a key.
pub async fn get(db: &mut AnyConnection, key: &str) -> Outcome<Option<String>> {
    let row = sqlx::query("SELECT value FROM site WHERE key = $1").bind(key).fetch_optional(db).await?;
    row.map(|row| Ok(row.try_get("value")?)).transpose()
}

/// Sets a key, whatever it was.
pub async fn set(tx: &mut Tx<'_>, key: &str, value: &str) -> Outcome<()> {
    sqlx::query("INSERT INTO site (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
        .bind(key)
        .bind(value)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Sets a key that has no value yet. `false`: it has one, which stays.
pub async fn set_new(tx: &mut Tx<'_>, key: &str, value: &str) -> Outcome<bool> {
    let done = sqlx::query("INSERT INTO site (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING")
        .bind(key)
        .bind(value)
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Removes a key. `false`: it had no value.
pub async fn remove(tx: &mut Tx<'_>, key: &str) -> Outcome<bool> {
    let done = sqlx::query("DELETE FROM site WHERE key = $1").bind(key).execute(&mut **tx).await?;
    Ok(done.rows_affected() == 1)
}
