//! Postings a second when many segments wait to be settled, beside bare inserts
//! of the same postings.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::{Cause, Error, Result, Timestamp};
use control::{Clock, Control, SystemClock, worker};
use engine::remote::AgentEngine;
use futures_util::FutureExt;
use sqlx::Row;
use sqlx::any::AnyRow;
use store::lease::Kind;
use store::{Dialect, Outcome, Store, Tx, audit};
use tempfile::TempDir;

use crate::database::{Engine, Fresh};
use crate::figure::Figure;
use crate::rows;
use crate::within::within;

/// Rounds of ours and of the peer in turn.
const ROUNDS: usize = 4;

/// Accounts, each with one instance, and closed segments of each in one round.
const ACCOUNTS: usize = 250;
const EACH: usize = 20;

/// Rows of one bare insert, which is one transaction.
const AT_ONCE: usize = 1_000;

/// How long one round may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Settlement on both databases.
///
/// # Errors
/// Anything that went wrong: then there is no figure.
pub async fn figures() -> Result<Vec<Figure>> {
    let folder = TempDir::new().map_err(Error::internal)?;
    let url = format!("sqlite://{}", folder.path().join("bench.db").display());
    let mut figures = vec![within(measure(Engine::Sqlite, &url)).await?];
    folder.close().map_err(Error::internal)?;
    let database = Fresh::postgres().await?;
    let done = within(measure(Engine::Postgres, &database.url())).await;
    database.remove().await?;
    figures.push(done?);
    Ok(figures)
}

async fn measure(engine: Engine, url: &str) -> Result<Figure> {
    let store = store::open(url).await?;
    let clock = Arc::new(SystemClock::start());
    prepare(&store).await?;
    let now = clock.now();
    let machines = rows::machines(&store, ACCOUNTS, now).await?;
    let mut instances = Vec::with_capacity(ACCOUNTS);
    for (owner, node) in rows::owners(&store, ACCOUNTS, now).await?.into_iter().zip(machines) {
        let id = rows::resting(&store, &owner, now).await?;
        instances.push((owner, id, node));
    }
    let control = Control::<_, AgentEngine>::new(store.clone(), clock.clone());
    let (mut ours, mut bare) = (Duration::ZERO, Duration::ZERO);
    for round in 0..ROUNDS {
        // One after the other in time, so that segments of an instance do not overlap.
        let before = now.before(base::Span::from_hours(i64::try_from(round).unwrap_or(0)));
        rows::closed(&store, &instances, EACH, before).await?;
        let since = clock.now();
        ours += settle(&control).await?;
        bare += insert(&store, since).await?;
    }
    check(&store).await?;
    let postings = ROUNDS * ACCOUNTS * EACH;
    let rate = |took: Duration| postings as f64 / took.as_secs_f64();
    Ok(Figure::new(format!("settle.{}", engine.as_str()), rate(ours), "postings/s", ROUNDS)
        .beside("bare inserts", rate(bare))
        .note(format!(
            "{postings} closed segments of {ACCOUNTS} accounts, {} a round, through the segment worker alone; peer: the \
             same postings inserted into an identical table, {AT_ONCE} rows a statement and transaction; {}",
            ACCOUNTS * EACH,
            engine.note()
        )))
}

/// A table like `postings`, with all its indexes.
async fn prepare(store: &Store) -> Result<()> {
    const TABLE: [&str; 3] = [
        "CREATE TABLE bare_postings (
            id TEXT PRIMARY KEY,
            debit TEXT NOT NULL,
            credit TEXT NOT NULL,
            amount BIGINT NOT NULL CHECK (amount > 0),
            kind TEXT NOT NULL,
            cause TEXT NOT NULL UNIQUE,
            at BIGINT NOT NULL,
            account_id TEXT,
            segment_id TEXT REFERENCES segments (id),
            price_version TEXT,
            note TEXT
        )",
        "CREATE INDEX bare_postings_account ON bare_postings (account_id, at)",
        "CREATE INDEX bare_postings_segment ON bare_postings (segment_id)",
    ];
    store
        .write(|tx| {
            async move {
                for sql in TABLE {
                    sqlx::query(sql).execute(&mut **tx).await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
}

/// Runs the product's own worker until a whole round is settled.
async fn settle(control: &Control<SystemClock, AgentEngine>) -> Result<Duration> {
    let wanted = settled(control) + u64::try_from(ACCOUNTS * EACH).map_err(Error::internal)?;
    let began = Instant::now();
    let done = async {
        while settled(control) < wanted {
            // The worker's own count costs the database nothing; asking it did.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        () = worker::run(control.clone(), Kind::Segments) => return Err(Error::internal("the worker ended")),
        done = tokio::time::timeout(PATIENCE, done) => {
            done.map_err(|_| Error::new(Cause::Unavailable, format!("a round was not settled within {PATIENCE:?}")))?;
        }
    }
    Ok(began.elapsed())
}

fn settled(control: &Control<SystemClock, AgentEngine>) -> u64 {
    control.metrics.counts().steps.get(&(Kind::Segments.as_str(), "settle")).map_or(0, |(count, _)| *count)
}

/// Columns that are inserted; `note` is empty.
const COLUMNS: usize = 10;

/// A posting: its texts, amount and moment.
type Posting = (Vec<String>, i64, i64);

/// Inserts the postings that were made since then once more, by themselves.
async fn insert(store: &Store, since: Timestamp) -> Result<Duration> {
    let postings = made_since(store, since).await?;
    if postings.len() != ACCOUNTS * EACH {
        return Err(Error::internal(format!(
            "{} postings were made in a round of {}",
            postings.len(),
            ACCOUNTS * EACH
        )));
    }
    let sql: Arc<str> = statement(store.dialect(), AT_ONCE).into();
    let mut took = Duration::ZERO;
    for batch in postings.chunks_exact(AT_ONCE) {
        let (batch, sql): (Arc<[Posting]>, _) = (batch.into(), sql.clone());
        let began = Instant::now();
        store
            .write(move |tx| {
                let (batch, sql) = (batch.clone(), sql.clone());
                async move { insert_batch(tx, &sql, &batch).await }.boxed()
            })
            .await?;
        took += began.elapsed();
    }
    Ok(took)
}

/// Places without numbers where the database allows it: SQLite looks numbered
/// ones up in a list, which takes longer than the insert.
fn statement(dialect: Dialect, rows: usize) -> String {
    let place = |n: usize| match dialect {
        Dialect::Sqlite => "?".to_owned(),
        Dialect::Postgres => format!("${}", n + 1),
    };
    let row = |n: usize| {
        let places: Vec<_> = (0..COLUMNS).map(|column| place(n * COLUMNS + column)).collect();
        format!("({})", places.join(", "))
    };
    let rows: Vec<_> = (0..rows).map(row).collect();
    format!(
        "INSERT INTO bare_postings (id, debit, credit, kind, cause, account_id, segment_id, price_version, amount, at)
         VALUES {}",
        rows.join(", ")
    )
}

async fn insert_batch(tx: &mut Tx<'_>, sql: &str, batch: &[Posting]) -> Outcome<()> {
    let mut query = sqlx::query(sqlx::AssertSqlSafe(sql.to_owned()));
    for (texts, amount, at) in batch {
        for text in texts {
            query = query.bind(text.as_str());
        }
        query = query.bind(*amount).bind(*at);
    }
    query.execute(&mut **tx).await?;
    Ok(())
}

async fn made_since(store: &Store, since: Timestamp) -> Result<Vec<Posting>> {
    let mut db = store.read().await?;
    let rows =
        sqlx::query("SELECT * FROM postings WHERE at >= $1 ORDER BY id").bind(since.micros()).fetch_all(&mut *db).await;
    rows.map_err(Error::internal)?.iter().map(|row| posting(row).map_err(Error::internal)).collect()
}

fn posting(row: &AnyRow) -> sqlx::Result<Posting> {
    const TEXTS: [&str; 8] = ["id", "debit", "credit", "kind", "cause", "account_id", "segment_id", "price_version"];
    let texts = TEXTS.iter().map(|column| row.try_get(*column)).collect::<sqlx::Result<_>>()?;
    Ok((texts, row.try_get("amount")?, row.try_get("at")?))
}

/// A fast settlement that is wrong is no figure.
async fn check(store: &Store) -> Result<()> {
    let found = store.snapshot(|db| audit::run(db).boxed()).await?;
    if found.differences.is_empty() {
        return Ok(());
    }
    Err(Error::internal(format!("the books differ: {}", found.differences.join("; "))))
}
