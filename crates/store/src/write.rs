//! One way to write: a closure in a transaction.

use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use base::{Error, Result};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, Connection};
use tokio::sync::{mpsc, oneshot};

use crate::secrets::Keyring;
use crate::timing::{Times, Timing};
use crate::{Dialect, Fault, Outcome, Pool, fault};

/// How often a transaction is tried when the database reports a conflict.
const TRIES: u32 = 8;

/// How much longer each further try waits.
const STEP_ASIDE: Duration = Duration::from_millis(5);

/// How many waiting writes one SQLite commit takes along.
const GROUP: usize = 256;

/// A running transaction. It is used like the connection that it runs on.
pub struct Tx<'c> {
    connection: &'c mut AnyConnection,
    dialect: Dialect,
    random: Random,
    keys: Keys,
}

type Random = Arc<Mutex<Source>>;

/// What seals secrets; it can change while the store is open.
type Keys = Arc<RwLock<Option<Arc<Keyring>>>>;

/// Where ids come from.
struct Source {
    bits: StdRng,
    count: u32,
}

impl From<StdRng> for Source {
    fn from(bits: StdRng) -> Self {
        Self { bits, count: 0 }
    }
}

impl Tx<'_> {
    /// Which database this is.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Random bits for ids. From one seed per store, so that a simulation repeats itself.
    pub fn random(&self) -> u128 {
        self.random.lock().unwrap_or_else(std::sync::PoisonError::into_inner).bits.random()
    }

    /// The keys that seal secrets, where the store was given any.
    pub(crate) fn keys(&self) -> Option<Arc<Keyring>> {
        self.keys.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Like [`Self::random`], but the upper 32 of the 80 bits that an id takes count
    /// up: ids of one millisecond sort in the order in which this process made them.
    pub fn in_order(&self) -> u128 {
        let mut source = self.random.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        source.count = source.count.wrapping_add(1);
        u128::from(source.count) << 48 | u128::from(source.bits.random::<u64>() >> 16)
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

/// Why the writer did not come to do a job that it had taken.
type Trouble = Arc<Mutex<Option<Error>>>;

/// The database, shared by cloning.
#[derive(Clone)]
pub struct Store {
    pool: Pool,
    dialect: Dialect,
    random: Random,
    keys: Keys,
    writer: Option<mpsc::Sender<Job>>,
    timing: Arc<Timing>,
    trouble: Trouble,
    written: Arc<tokio::sync::watch::Sender<u64>>,
    #[cfg(feature = "testing")]
    gate: Option<crate::testing::Gate>,
}

impl Store {
    pub(crate) fn new(pool: Pool, dialect: Dialect, options: AnyConnectOptions) -> Self {
        let random: Random = Arc::new(Mutex::new(StdRng::from_os_rng().into()));
        let (keys, timing, trouble) = (Keys::default(), Arc::<Timing>::default(), Trouble::default());
        let writer = (dialect == Dialect::Sqlite).then(|| {
            let (send, receive) = mpsc::channel(4 * GROUP);
            let writer = Writer {
                options,
                random: random.clone(),
                keys: keys.clone(),
                timing: timing.clone(),
                trouble: trouble.clone(),
            };
            tokio::spawn(writer.run(receive));
            send
        });
        Self {
            pool,
            dialect,
            random,
            keys,
            writer,
            timing,
            trouble,
            written: Arc::new(tokio::sync::watch::Sender::new(0)),
            #[cfg(feature = "testing")]
            gate: None,
        }
    }

    /// This store, each of whose writes awaits `gate` before it begins and before
    /// its caller hears of it; the stores that it was cloned from stay as they are.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_gate(self, gate: crate::testing::Gate) -> Self {
        Self { gate: Some(gate), ..self }
    }

    /// Which database this is.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Seals secrets with the first of `keys` from now on, also in clones of this
    /// store; values sealed with any of them, and plain ones, are read. May be
    /// called again with other keys.
    ///
    /// # Errors
    /// `host-incomplete` when the database has values that none of them opens.
    pub async fn with_keys(self, keys: Keyring) -> Result<Self> {
        crate::secrets::check(&self, &keys).await?;
        *self.keys.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(Arc::new(keys));
        Ok(self)
    }

    /// Makes every random number that follows a function of `seed`.
    pub fn seed(&self, seed: u64) {
        *self.random.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = StdRng::seed_from_u64(seed).into();
    }

    /// A connection for reading.
    ///
    /// # Errors
    /// `unavailable` when none becomes free in time.
    pub async fn read(&self) -> Result<sqlx::pool::PoolConnection<sqlx::Any>> {
        let began = Instant::now();
        let acquired = self.pool.acquire().await;
        self.timing.read_waits.since(began);
        acquired.map_err(|e| Error::from(Fault::from(e)))
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
        let began = Instant::now();
        let done = done.await;
        self.timing.snapshots.since(began);
        done.map_err(Error::from)
    }

    /// Where the time of the database went since this store was opened.
    pub fn times(&self) -> Times {
        self.timing.get()
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
        #[cfg(feature = "testing")]
        if let Some(gate) = &self.gate {
            gate(crate::testing::Moment::Before).await;
        }
        let began = Instant::now();
        let done = match &self.writer {
            Some(writer) => self.queue(writer, work).await,
            None => self.write_alone(work).await,
        };
        self.timing.writes.since(began);
        if done.is_ok() {
            self.written.send_modify(|n| *n += 1);
        }
        #[cfg(feature = "testing")]
        if let Some(gate) = &self.gate {
            gate(crate::testing::Moment::After).await;
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
                let began = Instant::now();
                let mut transaction = self.pool.begin().await?;
                self.timing.write_waits.since(began);
                let mut tx = Tx {
                    connection: &mut transaction,
                    dialect: self.dialect,
                    random: self.random.clone(),
                    keys: self.keys.clone(),
                };
                let value = match work(&mut tx).await {
                    Ok(value) => value,
                    Err(fault) => {
                        // Now, not when the connection is used again: whoever is told of
                        // the refusal must not find the rows still locked. Where even this
                        // fails the connection is broken, and its transaction with it.
                        let _ = transaction.rollback().await;
                        return Err(fault);
                    }
                };
                let began = Instant::now();
                transaction.commit().await?;
                self.timing.commits.since(began);
                Ok::<T, Fault>(value)
            };
            let done: Outcome<T> = attempt.await;
            match done {
                Ok(value) => return Ok(value),
                Err(fault) if fault.is_transient() && tries < TRIES => {
                    tracing::debug!(?fault, tries, "transaction is tried again");
                    // Steps aside, so that the other transaction is through before the next try.
                    tokio::time::sleep(STEP_ASIDE.saturating_mul(tries)).await;
                }
                Err(fault) => return Err(fault.into()),
            }
        }
    }

    async fn queue<T, F>(&self, writer: &mpsc::Sender<Job>, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx<'_>) -> BoxFuture<'t, Outcome<T>> + Send + Sync + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let (began, timing) = (Instant::now(), self.timing.clone());
        let job: Job = Box::new(move |tx| {
            Box::pin(async move {
                timing.write_waits.since(began);
                // A write that breaks must not take the writer of all others with it.
                let outcome = std::panic::AssertUnwindSafe(work(tx)).catch_unwind().await;
                let outcome = outcome.unwrap_or_else(|_| Err(Error::internal("a write broke").into()));
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
        // A job that is dropped was not done; its group's trouble was written down before.
        answered.await.unwrap_or_else(|_| {
            let trouble = self.trouble.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            Err(trouble.clone().unwrap_or_else(gone))
        })
    }
}

/// The one writer of a SQLite database: whatever has queued up shares a commit,
/// each job behind its own savepoint.
struct Writer {
    options: AnyConnectOptions,
    random: Random,
    keys: Keys,
    timing: Arc<Timing>,
    trouble: Trouble,
}

impl Writer {
    async fn run(self, mut jobs: mpsc::Receiver<Job>) {
        let mut connection: Option<AnyConnection> = None;
        while let Some(first) = jobs.recv().await {
            let mut group = vec![first];
            while group.len() < GROUP {
                match jobs.try_recv() {
                    Ok(job) => group.push(job),
                    Err(_) => break,
                }
            }
            let mut open = match connection.take() {
                Some(open) => open,
                None => match open_writer(&self.options).await {
                    Ok(fresh) => fresh,
                    Err(error) => {
                        tracing::error!(%error, "the database cannot be opened for writing");
                        self.write_down(&told(&error));
                        // Dropping the jobs answers their callers.
                        continue;
                    }
                },
            };
            self.timing.group(group.len());
            // In doubt about the connection's state: begin with a fresh one.
            if self.commit_group(&mut open, group).await.is_ok() {
                connection = Some(open);
            }
        }
    }

    fn write_down(&self, error: &Error) {
        *self.trouble.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error.clone());
    }

    async fn commit_group(&self, connection: &mut AnyConnection, group: Vec<Job>) -> sqlx::Result<()> {
        let mut finished = Vec::with_capacity(group.len());
        let mut jobs = group.into_iter();
        let done = async {
            sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
            for job in jobs.by_ref() {
                sqlx::query("SAVEPOINT job").execute(&mut *connection).await?;
                let mut tx = Tx {
                    connection: &mut *connection,
                    dialect: Dialect::Sqlite,
                    random: self.random.clone(),
                    keys: self.keys.clone(),
                };
                let finish = job(&mut tx).await;
                let undo = finish.undo;
                finished.push(finish);
                if undo {
                    sqlx::query("ROLLBACK TO job").execute(&mut *connection).await?;
                }
                sqlx::query("RELEASE job").execute(&mut *connection).await?;
            }
            let began = Instant::now();
            sqlx::query("COMMIT").execute(&mut *connection).await?;
            self.timing.commits.since(began);
            Ok(())
        };
        let committed: sqlx::Result<()> = done.await;
        let mut answer = Ok(());
        if let Err(error) = &committed {
            tracing::error!(%error, "a commit failed; nothing of it was acknowledged");
            let _ = sqlx::query("ROLLBACK").execute(&mut *connection).await;
            let error = told(error);
            self.write_down(&error);
            answer = Err(error);
        }
        for finish in finished {
            (finish.tell)(answer.clone());
        }
        drop(jobs);
        committed
    }
}

async fn open_writer(options: &AnyConnectOptions) -> sqlx::Result<AnyConnection> {
    let mut connection = AnyConnection::connect_with(options).await?;
    crate::prepare(&mut connection, Dialect::Sqlite).await?;
    Ok(connection)
}

/// What the callers are told whose writes shared a commit that failed.
fn told(error: &sqlx::Error) -> Error {
    fault::trouble(error).unwrap_or_else(|| {
        Error::new(base::Cause::Unavailable, "the database could not commit")
            .hint("try again in a moment")
            .context(error)
    })
}
