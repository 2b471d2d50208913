//! Backup and restore of a site with a million segments.

use std::path::Path;
use std::time::{Duration, Instant};

use base::{Error, Result, Span};
use control::{Clock, SystemClock};
use sqlx::Executor;
use store::Store;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::database::{Engine, Fresh};
use crate::figure::Figure;
use crate::rows;
use crate::within::within;

/// Segments of the site.
const SEGMENTS: i64 = 1_000_000;

/// Backup and restore on both databases.
///
/// # Errors
/// Anything that went wrong: then there is no figure.
pub async fn figures() -> Result<Vec<Figure>> {
    let folder = TempDir::new().map_err(Error::internal)?;
    let sqlite = |name: &str| format!("sqlite://{}", folder.path().join(name).display());
    let file = folder.path().join("backup.jsonl");
    let mut figures = within(measure(Engine::Sqlite, &sqlite("from.db"), &sqlite("to.db"), &file)).await?;
    let (from, to) = (Fresh::postgres().await?, Fresh::postgres().await?);
    let done = within(measure(Engine::Postgres, &from.url(), &to.url(), &file)).await;
    from.remove().await?;
    to.remove().await?;
    figures.extend(done?);
    folder.close().map_err(Error::internal)?;
    Ok(figures)
}

async fn measure(engine: Engine, from: &str, to: &str, file: &Path) -> Result<Vec<Figure>> {
    let store = store::open(from).await?;
    fill(&store).await?;
    let began = Instant::now();
    let bytes = save(&store, file).await?;
    let saved = began.elapsed();
    let began = Instant::now();
    let now = SystemClock::start().now();
    let restored = store::backup::restore(to, file, now).await?;
    let back = began.elapsed();
    if restored.rows.get("segments") != Some(&SEGMENTS) {
        return Err(Error::internal(format!("{:?} rows came back", restored.rows)));
    }
    let figure = |what: &str, took: Duration| {
        Figure::new(format!("{what}.{}", engine.as_str()), took.as_secs_f64(), "s", 1).note(format!(
            "{SEGMENTS} segments, {} MiB, with the checksum; {}",
            bytes >> 20,
            engine.note()
        ))
    };
    Ok(vec![figure("backup", saved), figure("restore", back)])
}

/// One true closed segment, multiplied by the database.
async fn fill(store: &Store) -> Result<()> {
    let now = SystemClock::start().now();
    let node = rows::machines(store, 1, now).await?.remove(0);
    let owner = rows::owners(store, 1, now).await?.remove(0);
    let id = rows::resting(store, &owner, now).await?;
    rows::closed(store, &[(owner, id, node)], 1, now.before(Span::from_hours(1))).await?;
    let mut db = store.read().await?;
    let more = sqlx::AssertSqlSafe(format!(
        "WITH RECURSIVE more (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM more WHERE n < {SEGMENTS})
         INSERT INTO segments (id, instance_id, account_id, node_id, generation, kind, rate, price_version, plan,
            from_at, to_at, posted, evidence, closed_by, devices)
         SELECT s.id || '-' || n, s.instance_id, s.account_id, s.node_id, s.generation, s.kind, s.rate,
            s.price_version, s.plan, s.from_at + n, s.to_at + n, s.posted, s.evidence, s.closed_by, s.devices
         FROM segments s CROSS JOIN more"
    ));
    db.execute(more).await.map_err(Error::internal)?;
    Ok(())
}

async fn save(store: &Store, file: &Path) -> Result<u64> {
    let (send, mut receive) = mpsc::channel::<Vec<u8>>(4);
    let (from, now) = (store.clone(), SystemClock::start().now());
    let work = tokio::spawn(async move { store::backup::stream(&from, now, send).await });
    let mut to = tokio::fs::File::create(file).await.map_err(Error::internal)?;
    let mut bytes = 0;
    while let Some(piece) = receive.recv().await {
        bytes += piece.len() as u64;
        to.write_all(&piece).await.map_err(Error::internal)?;
    }
    to.sync_all().await.map_err(Error::internal)?;
    work.await.map_err(Error::internal)??;
    Ok(bytes)
}
