//! One way to write: a closure in a transaction.

use std::sync::{Arc, Mutex};

use base::{Error, Result};
use futures_util::future::BoxFuture;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, Connection};
use tokio::sync::{mpsc, oneshot};

use crate::{Dialect, Fault, Outcome, Pool};

/// How often a transaction is tried when the database reports a conflict.
const TRIES: usize = 8;

/// How many waiting writes one SQLite commit takes along.
const GROUP: usize = 256;

/// A running transaction. It is used like the connection that it runs on.
pub struct Tx<'c> {
    connection: &'c mut AnyConnection,
    dialect: Dialect,
    random: Random,
}

type Random = Arc<Mutex<StdRng>>;

impl Tx<'_> {
    /// Which database this is.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Random bits for ids. From one seed per store, so that a simulation repeats itself.
    pub fn random(&self) -> u128 {
        self.random.lock().unwrap_or_else(std::sync::PoisonError::into_inner).random()
    }
}

impl std::ops::Deref for Tx<'_> {
    type Target = AnyConnection;
    fn deref(&self) -> &AnyConnection {
        self.connection
    }
}

impl std::ops::DerefMut for Tx<'_> {
    fn deref_mut(&mut self) -> &mut AnyConnection {
        self.connection
    }
}

type Job = Box<dyn for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Finish> + Send>;

/// What to tell the caller once the commit is done (or failed), and whether the
/// job's own changes have to be undone.
struct Finish {
    undo: bool,
    tell: Box<dyn FnOnce(Result<()>) + Send>,
}

/// The database, shared by cloning.
#[derive(Clone)]
pub struct Store {
    pool: Pool,
    dialect: Dialect,
    random: Random,
    writer: Option<mpsc::Sender<Job>>,
    written: Arc<tokio::sync::watch::Sender<u64>>,
}

impl Store {
    pub(crate) fn new(pool: Pool, dialect: Dialect, options: AnyConnectOptions) -> Self {
        let random: Random = Arc::new(Mutex::new(StdRng::from_os_rng()));
        let writer = (dialect == Dialect::Sqlite).then(|| {
            let (send, receive) = mpsc::channel(4 * GROUP);
            tokio::spawn(group_commit(options, random.clone(), receive));
            send
        });
        Self { pool, dialect, random, writer, written: Arc::new(tokio::sync::watch::Sender::new(0)) }
    }

    /// Which database this is.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Makes every random number that follows a function of `seed`.
    pub fn seed(&self, seed: u64) {
        *self.random.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = StdRng::seed_from_u64(seed);
    }

    /// A connection for reading.
    ///
    /// # Errors
    /// `unavailable` when none becomes free in time.
    pub async fn read(&self) -> Result<sqlx::pool::PoolConnection<sqlx::Any>> {
        self.pool.acquire().await.map_err(|e| Error::from(Fault::from(e)))
    }

    /// Reads several things as they were at one moment.
    ///
    /// # Errors
    /// What `read` returns, or trouble with the database.
    pub async fn snapshot<T, F>(&self, read: F) -> Result<T>
    where
        F: for<'t> FnOnce(&'t mut AnyConnection) -> BoxFuture<'t, Outcome<T>>,
    {
        let begin = match self.dialect {
            Dialect::Sqlite => "BEGIN DEFERRED",
            Dialect::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        let done = async {
            let mut transaction = self.pool.begin_with(begin).await?;
            read(&mut transaction).await
        };
        done.await.map_err(Error::from)
    }

    /// Changes after every committed write of this process: a nudge for whoever waits for work.
    pub fn watch(&self) -> tokio::sync::watch::Receiver<u64> {
        self.written.subscribe()
    }

    /// Runs `work` in one transaction. It may be run several times, so it must
    /// not do anything but talk to the database.
    ///
    /// # Errors
    /// What `work` refuses (then nothing is changed), or trouble with the database.
    pub async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx<'_>) -> BoxFuture<'t, Outcome<T>> + Send + Sync + 'static,
    {
        let done = match &self.writer {
            Some(writer) => queue(writer, work).await,
            None => self.write_alone(work).await,
        };
        if done.is_ok() {
            self.written.send_modify(|n| *n += 1);
        }
        done
    }

    async fn write_alone<T, F>(&self, work: F) -> Result<T>
    where
        F: for<'t> Fn(&'t mut Tx<'_>) -> BoxFuture<'t, Outcome<T>> + Send + Sync + 'static,
    {
        let mut tries = 0;
        loop {
            tries += 1;
            let attempt = async {
                let mut transaction = self.pool.begin().await?;
                let mut tx = Tx { connection: &mut transaction, dialect: self.dialect, random: self.random.clone() };
                let value = work(&mut tx).await?;
                transaction.commit().await?;
                Ok::<T, Fault>(value)
            };
            let done: Outcome<T> = attempt.await;
            match done {
                Ok(value) => return Ok(value),
                Err(fault) if fault.is_transient() && tries < TRIES => {
                    tracing::debug!(?fault, tries, "transaction is tried again");
                }
                Err(fault) => return Err(fault.into()),
            }
        }
    }
}

async fn queue<T, F>(writer: &mpsc::Sender<Job>, work: F) -> Result<T>
where
    T: Send + 'static,
    F: for<'t> Fn(&'t mut Tx<'_>) -> BoxFuture<'t, Outcome<T>> + Send + Sync + 'static,
{
    let (answer, answered) = oneshot::channel();
    let job: Job = Box::new(move |tx| {
        Box::pin(async move {
            let outcome = work(tx).await;
            let undo = outcome.is_err();
            let tell = Box::new(move |committed: Result<()>| {
                let result = match (outcome, committed) {
                    (Err(fault), _) => Err(fault.into()),
                    (Ok(_), Err(error)) => Err(error),
                    (Ok(value), Ok(())) => Ok(value),
                };
                // A caller that went away does not care for the answer.
                let _ = answer.send(result);
            });
            Finish { undo, tell }
        })
    });
    let gone = || Error::new(base::Cause::Unavailable, "the server is shutting down");
    writer.send(job).await.map_err(|_| gone())?;
    answered.await.map_err(|_| gone())?
}

/// The one writer of a SQLite database: whatever has queued up shares a commit,
/// each job behind its own savepoint.
async fn group_commit(options: AnyConnectOptions, random: Random, mut jobs: mpsc::Receiver<Job>) {
    let mut connection: Option<AnyConnection> = None;
    while let Some(first) = jobs.recv().await {
        let mut group = vec![first];
        while group.len() < GROUP {
            match jobs.try_recv() {
                Ok(job) => group.push(job),
                Err(_) => break,
            }
        }
        if connection.is_none() {
            match open_writer(&options).await {
                Ok(fresh) => connection = Some(fresh),
                Err(error) => {
                    // Dropping the jobs answers their callers with `unavailable`.
                    tracing::error!(%error, "the database cannot be opened for writing");
                    continue;
                }
            }
        }
        if let Some(open) = connection.as_mut() {
            if commit_group(open, &random, group).await.is_err() {
                // In doubt about the connection's state: begin with a fresh one.
                connection = None;
            }
        }
    }
}

async fn open_writer(options: &AnyConnectOptions) -> sqlx::Result<AnyConnection> {
    let mut connection = AnyConnection::connect_with(options).await?;
    crate::prepare(&mut connection, Dialect::Sqlite).await?;
    Ok(connection)
}

async fn commit_group(connection: &mut AnyConnection, random: &Random, group: Vec<Job>) -> sqlx::Result<()> {
    let mut finished = Vec::with_capacity(group.len());
    let done = async {
        sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
        for job in group {
            sqlx::query("SAVEPOINT job").execute(&mut *connection).await?;
            let mut tx = Tx { connection: &mut *connection, dialect: Dialect::Sqlite, random: random.clone() };
            let finish = job(&mut tx).await;
            if finish.undo {
                sqlx::query("ROLLBACK TO job").execute(&mut *connection).await?;
            }
            finished.push(finish);
            sqlx::query("RELEASE job").execute(&mut *connection).await?;
        }
        sqlx::query("COMMIT").execute(&mut *connection).await
    };
    let committed = done.await.map(|_| ());
    if committed.is_err() {
        let _ = sqlx::query("ROLLBACK").execute(&mut *connection).await;
    }
    for finish in finished {
        let result = match &committed {
            Ok(()) => Ok(()),
            Err(error) => Err(Error::new(base::Cause::Unavailable, "the database could not commit")
                .hint("try again in a moment")
                .context(error)),
        };
        (finish.tell)(result);
    }
    committed
}
