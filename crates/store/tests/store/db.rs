//! A fresh database per test, SQLite or PostgreSQL.

use sqlx::{AnyConnection, Connection, Executor};
use store::Store;

/// A database that ends with its test.
pub struct Db {
    pub store: Store,
    pub url: String,
    // Held so that the file lives as long as the test.
    _folder: Option<tempfile::TempDir>,
    drop: Option<(String, String)>,
}

impl Db {
    pub async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("suanli.db").display());
        Self { store: store::open(&url).await.unwrap(), url, _folder: Some(folder), drop: None }
    }

    /// A SQLite database at this address; it stays.
    #[allow(dead_code, reason = "for the tests of the server, which share this file")]
    pub async fn at(url: &str) -> Self {
        Self { store: store::open(url).await.unwrap(), url: url.to_owned(), _folder: None, drop: None }
    }

    /// `None` only where the run asked for SQLite alone with `FAST=1`.
    pub async fn postgres() -> Option<Self> {
        let Ok(server) = std::env::var("SUANLI_TEST_POSTGRES") else {
            let fast = std::env::var("FAST").is_ok_and(|v| v == "1");
            assert!(fast, "SUANLI_TEST_POSTGRES is missing: run through scripts/with-postgres.sh, or set FAST=1");
            return None;
        };
        sqlx::any::install_default_drivers();
        let name = format!("test_{:032x}", rand::random::<u128>());
        let (base, _) = server.rsplit_once('/').unwrap();
        let url = format!("{base}/{name}");
        let mut admin = AnyConnection::connect(&server).await.unwrap();
        admin.execute(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
        let store = store::open(&url).await.unwrap();
        Some(Self { store, url, _folder: None, drop: Some((server, name)) })
    }

    /// Another server on the same database; on SQLite, where there is only one
    /// process, the same one.
    pub async fn other(&self) -> Store {
        if self.drop.is_none() { self.store.clone() } else { store::open(&self.url).await.unwrap() }
    }

    pub async fn end(self) {
        if let Some((server, name)) = self.drop {
            let mut admin = AnyConnection::connect(&server).await.unwrap();
            admin.execute(sqlx::AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"))).await.unwrap();
        }
    }
}

/// Runs each named test body on both databases.
macro_rules! both {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                let db = $crate::db::Db::sqlite().await;
                super::$name(&db).await;
                db.end().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                if let Some(db) = $crate::db::Db::postgres().await {
                    super::$name(&db).await;
                    db.end().await;
                }
            }
        }
    )*};
}
pub(crate) use both;

/// Writes with a closure over `tx`; captured values are cloned for every try.
macro_rules! write {
    ($store:expr, |$tx:ident $(, $captured:ident)*| $body:expr) => {{
        $(let $captured = $captured.clone();)*
        $store
            .write(move |$tx| {
                $(let $captured = $captured.clone();)*
                Box::pin(async move { $body })
            })
            .await
    }};
}
pub(crate) use write;
