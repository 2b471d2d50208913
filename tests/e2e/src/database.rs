//! A PostgreSQL database of one test.

use std::path::PathBuf;
use std::process::Command;

use crate::Folder;

/// An empty database, dropped with the test.
#[derive(Debug)]
pub struct Database {
    server: String,
    name: String,
}

impl Database {
    /// Makes one beside the database that `SUANLI_TEST_POSTGRES` names.
    ///
    /// # Panics
    /// There is no such server: `scripts/with-postgres.sh` brings one up.
    pub fn new(folder: &Folder) -> Self {
        let server = std::env::var("SUANLI_TEST_POSTGRES")
            .expect("SUANLI_TEST_POSTGRES names no server: run this with scripts/with-postgres.sh");
        let database = Self { server, name: format!("e2e_{}_{}", std::process::id(), folder.number()) };
        database.order(&format!("CREATE DATABASE {}", database.name));
        database
    }

    /// Its address.
    ///
    /// # Panics
    /// The server's address has no database in it.
    pub fn url(&self) -> String {
        let (server, _) = self.server.rsplit_once('/').expect("an address with a database");
        format!("{server}/{}", self.name)
    }

    fn order(&self, order: &str) {
        let done = Command::new(psql()).args(["-q", "-v", "ON_ERROR_STOP=1", "-c", order]).arg(&self.server).output();
        let done = done.expect("psql cannot be run");
        assert!(done.status.success(), "{order}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let order = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        let _ = Command::new(psql()).args(["-q", "-c", &order]).arg(&self.server).output();
    }
}

fn psql() -> PathBuf {
    let versions =
        std::fs::read_dir("/usr/lib/postgresql").map(|d| d.flatten().collect::<Vec<_>>()).unwrap_or_default();
    let found = versions.iter().map(|version| version.path().join("bin/psql")).filter(|path| path.is_file()).max();
    found.unwrap_or_else(|| PathBuf::from("psql"))
}
