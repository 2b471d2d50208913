//! A fresh database for one measurement.

use base::{Cause, Error, Result};
use sqlx::{AnyConnection, Connection, Executor};

/// Where the private PostgreSQL of this run answers; `scripts/with-postgres.sh` sets it.
const POSTGRES: &str = "SUANLI_TEST_POSTGRES";

/// Which kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// One file.
    Sqlite,
    /// A server.
    Postgres,
}

impl Engine {
    /// Its name in figures.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    /// What every figure from it has to say.
    pub const fn note(self) -> &'static str {
        match self {
            Self::Sqlite => "synchronous=FULL",
            Self::Postgres => "fsync=off, on the same cores",
        }
    }
}

/// A database on the PostgreSQL of this run, removed by [`Fresh::remove`].
pub struct Fresh {
    server: String,
    name: String,
}

impl Fresh {
    /// Makes one.
    ///
    /// # Errors
    /// `host-incomplete` when the run has no PostgreSQL.
    pub async fn postgres() -> Result<Self> {
        let server = std::env::var(POSTGRES).map_err(|_| {
            Error::new(Cause::HostIncomplete, format!("{POSTGRES} is not set"))
                .hint("run through scripts/with-postgres.sh")
        })?;
        sqlx::any::install_default_drivers();
        let fresh = Self { server, name: format!("bench_{:032x}", rand::random::<u128>()) };
        fresh.tell(format!("CREATE DATABASE {}", fresh.name)).await?;
        Ok(fresh)
    }

    /// Its address.
    pub fn url(&self) -> String {
        let base = self.server.rsplit_once('/').map_or(self.server.as_str(), |(base, _)| base);
        format!("{base}/{}", self.name)
    }

    /// Removes it, whoever is still connected.
    ///
    /// # Errors
    /// PostgreSQL's.
    pub async fn remove(self) -> Result<()> {
        self.tell(format!("DROP DATABASE {} WITH (FORCE)", self.name)).await
    }

    async fn tell(&self, sql: String) -> Result<()> {
        let mut admin = AnyConnection::connect(&self.server).await.map_err(Error::internal)?;
        // The name is ours: letters, digits and an underscore.
        admin.execute(sqlx::AssertSqlSafe(sql)).await.map_err(Error::internal)?;
        admin.close().await.map_err(Error::internal)
    }
}
