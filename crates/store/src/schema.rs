//! The schema: bringing it up to date, and how far it is.
//!
//! Migrations expand, then contract, so that neighbouring versions of the server
//! share one database: a server leaves migrations alone that it does not know. Only
//! what the database itself asks for, `site.min_server`, keeps a server out.

use base::{Cause, Error, Result};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{AnyConnection, Row};

use crate::{Fault, Outcome, site};

/// Version of this server.
pub const SERVER: &str = env!("CARGO_PKG_VERSION");

/// Key in `site` of the lowest server version that may use the database.
pub const MIN_SERVER: &str = "min_server";

fn migrator() -> Migrator {
    let mut migrator = sqlx::migrate!("./migrations");
    // A newer server may have been here already; what it added does not disturb this one.
    migrator.set_ignore_missing(true);
    migrator
}

/// The newest schema that this server knows.
pub fn newest() -> i64 {
    migrator().iter().map(|m| m.version).max().unwrap_or(0)
}

/// Applies every migration that is missing, or those up to `to`.
///
/// # Errors
/// A migration failed, or one that was applied reads differently now.
pub(crate) async fn migrate(db: &mut AnyConnection, to: Option<i64>) -> Result<()> {
    let done = migrator().run_direct(to, db, false).await;
    done.map_err(|error| match error {
        MigrateError::VersionMismatch(version) => Error::new(
            Cause::HostIncomplete,
            format!("migration {version} was applied to this database in another form"),
        )
        .hint("use the release of the server that the database was made with, or a later one"),
        error => Error::internal(error).context("migrating"),
    })
}

/// The last migration that was applied; 0 for none.
pub async fn version(db: &mut AnyConnection) -> Outcome<i64> {
    let row = sqlx::query("SELECT COALESCE(MAX(version), 0) AS version FROM _sqlx_migrations").fetch_one(db).await?;
    Ok(row.try_get("version")?)
}

/// Refuses a database that needs a newer server than `server`.
///
/// # Errors
/// `host-incomplete` with the version that it needs.
pub(crate) async fn check_server(db: &mut AnyConnection, server: &str) -> Result<()> {
    let Some(needed) = site::get(db, MIN_SERVER).await.map_err(Error::from)? else {
        return Ok(());
    };
    if parts(server) >= parts(&needed) {
        return Ok(());
    }
    Err(Error::new(Cause::HostIncomplete, format!("the database needs server {needed} or newer, this is {server}"))
        .hint("start the newer server; nothing was changed"))
}

/// `1.2.3` as numbers; what follows a `-` does not count.
fn parts(version: &str) -> Vec<u64> {
    let plain = version.split(['-', '+']).next().unwrap_or_default();
    plain.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// Whether the database has no tables at all.
pub(crate) async fn is_empty(db: &mut AnyConnection, dialect: crate::Dialect) -> Outcome<bool> {
    let sql = match dialect {
        crate::Dialect::Sqlite => "SELECT COUNT(*) AS n FROM sqlite_master WHERE type = 'table'",
        crate::Dialect::Postgres => {
            "SELECT COUNT(*) AS n FROM information_schema.tables WHERE table_schema = current_schema()"
        }
    };
    let row = sqlx::query(sql).fetch_one(db).await.map_err(Fault::from)?;
    Ok(row.try_get::<i64, _>("n")? == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert!(parts("0.10.0") > parts("0.9.9"));
        assert!(parts("1.0.0") >= parts("1.0.0-rc.1"));
        assert!(parts("0.1.0") < parts("0.1.1"));
    }
}
