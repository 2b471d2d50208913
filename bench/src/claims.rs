//! Which server has claimed what, told by the database itself: leases do not say
//! whose they are. Each server connects under a name of its own, and a trigger
//! writes down under which name a token came.

use base::{Error, Result};
use sqlx::{AnyConnection, Connection, Executor, Row};

const NOTES: [&str; 3] = [
    "CREATE TABLE bench_claims (token TEXT PRIMARY KEY, who TEXT NOT NULL)",
    "CREATE FUNCTION bench_note() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
        INSERT INTO bench_claims VALUES (NEW.lease_token, current_setting('application_name')) ON CONFLICT DO NOTHING;
        RETURN NULL;
     END $$",
    // One row for the leases of all kinds.
    "CREATE VIEW bench_leases AS
     SELECT lease_token FROM instances WHERE lease_token IS NOT NULL
     UNION ALL SELECT lease_token FROM segments WHERE lease_token IS NOT NULL
     UNION ALL SELECT lease_token FROM accounts WHERE lease_token IS NOT NULL",
];

/// Claims in one PostgreSQL database.
pub struct Claims {
    db: AnyConnection,
}

impl Claims {
    /// Has the database write down from now on who claims.
    ///
    /// # Errors
    /// The database's.
    pub async fn watch(url: &str) -> Result<Self> {
        let mut db = AnyConnection::connect(url).await.map_err(Error::internal)?;
        for sql in NOTES {
            db.execute(sql).await.map_err(Error::internal)?;
        }
        for table in ["instances", "segments", "accounts"] {
            let sql = format!(
                "CREATE TRIGGER bench_note AFTER UPDATE OF lease_token ON {table} FOR EACH ROW
                 WHEN (NEW.lease_token IS NOT NULL AND NEW.lease_token IS DISTINCT FROM OLD.lease_token)
                 EXECUTE FUNCTION bench_note()"
            );
            db.execute(sqlx::AssertSqlSafe(sql)).await.map_err(Error::internal)?;
        }
        Ok(Self { db })
    }

    /// Objects that `who` has claimed, with nobody after him and no result yet.
    ///
    /// # Errors
    /// The database's.
    pub async fn of(&mut self, who: &str) -> Result<i64> {
        let sql = "SELECT COUNT(*) AS n FROM bench_leases l JOIN bench_claims c ON c.token = l.lease_token
                   WHERE c.who = $1";
        let row = sqlx::query(sql).bind(who).fetch_one(&mut self.db).await.map_err(Error::internal)?;
        row.try_get("n").map_err(Error::internal)
    }

    /// Ends the connection.
    ///
    /// # Errors
    /// The database's.
    pub async fn close(self) -> Result<()> {
        self.db.close().await.map_err(Error::internal)
    }
}

/// The address of a database for a server that is to be known as `who`: a plain word.
pub fn known_as(url: &str, who: &str) -> String {
    format!("{url}?application_name={who}")
}
