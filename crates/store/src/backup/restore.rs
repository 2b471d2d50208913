//! Restoring a backup: into an empty place, everything or nothing.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek};
use std::path::{Path, PathBuf};

use base::{Cause, Error, Result, Timestamp};
use sha2::{Digest, Sha256};
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Executor};

use super::tables::{Kind, Table, quoted, tables};
use super::{Begin, End, FORM, Header, Last};
use crate::{Dialect, Fault, Outcome, recovery, schema, secrets};

/// Rows that one statement inserts, and bytes of them.
const BATCH: usize = 1_000;
const BATCH_BYTES: usize = 1 << 20;

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// First line of the backup.
    pub header: Header,
    /// Rows by table.
    pub rows: BTreeMap<String, i64>,
    /// Ids of the secret keys that the restored values need.
    pub keys: Vec<String>,
}

/// Restores the backup in `file` into the database at `url`, which must have no
/// tables (SQLite: must not exist). The site is in recovery afterwards. When it
/// fails, nothing is left behind.
///
/// # Errors
/// `invalid-request` for a file that is no backup, cut off or damaged;
/// `host-incomplete` for one of a newer server; `already-exists` where the place
/// is not empty.
pub async fn restore(url: &str, file: &Path, now: Timestamp) -> Result<Restored> {
    sqlx::any::install_default_drivers();
    let dialect = crate::dialect(url)?;
    let mut reader = BufReader::with_capacity(1 << 20, open(file)?);
    let (header, end) = check(&mut reader)?;
    reader.rewind().map_err(|e| unreadable(file, &e))?;
    match dialect {
        Dialect::Postgres => {
            let mut db = connect(url).await?;
            let keys = fill(&mut db, dialect, &mut reader, &header, &end, now).await?;
            drop(db.close().await);
            Ok(Restored { header, rows: end.rows, keys })
        }
        Dialect::Sqlite => {
            let place = sqlite_path(url)?;
            refuse_used(&place)?;
            let part = beside(&place, ".restoring");
            remove(&part);
            let made = into_file(&part, &mut reader, &header, &end, now).await;
            let done = made.and_then(|keys| {
                put_in_place(&part, &place)?;
                Ok(keys)
            });
            if done.is_err() {
                remove(&part);
            }
            Ok(Restored { keys: done?, header, rows: end.rows })
        }
    }
}

async fn into_file(
    part: &Path,
    from: &mut impl BufRead,
    header: &Header,
    end: &End,
    now: Timestamp,
) -> Result<Vec<String>> {
    let mut db = connect(&format!("sqlite://{}?mode=rwc", part.display())).await?;
    // A file that fails is thrown away, so nothing has to be safe before its end.
    for pragma in ["PRAGMA journal_mode = MEMORY", "PRAGMA synchronous = OFF", "PRAGMA foreign_keys = ON"] {
        db.execute(pragma).await.map_err(|e| Error::from(Fault::from(e)))?;
    }
    let keys = fill(&mut db, Dialect::Sqlite, from, header, end, now).await;
    drop(db.close().await);
    keys
}

async fn connect(url: &str) -> Result<AnyConnection> {
    AnyConnection::connect(url).await.map_err(|e| {
        Error::new(Cause::Unavailable, "the database cannot be opened")
            .hint("look whether its address and rights are right; nothing was restored")
            .context(e)
    })
}

/// Everything in one transaction: a restore that is killed leaves nothing.
async fn fill(
    db: &mut AnyConnection,
    dialect: Dialect,
    from: &mut impl BufRead,
    header: &Header,
    end: &End,
    now: Timestamp,
) -> Result<Vec<String>> {
    let done = async {
        let mut tx = db.begin().await?;
        if !schema::is_empty(&mut tx, dialect).await? {
            return Err(used("the database has tables already").into());
        }
        // The schema of the backup first: migrations behind it then also change its rows.
        schema::migrate(&mut tx, Some(header.schema)).await?;
        let mut into = Into { known: tables(&mut tx, dialect).await?, dialect, now: None, rows: vec![], bytes: 0 };
        let mut line = Vec::new();
        let mut rows = BTreeMap::new();
        let mut table = String::new();
        // The first line was read before, the last one is not part of the data.
        from.read_until(b'\n', &mut line).map_err(Error::internal)?;
        loop {
            line.clear();
            from.read_until(b'\n', &mut line).map_err(Error::internal)?;
            match line.first() {
                Some(b'[') => {
                    *rows.entry(table.clone()).or_insert(0) += 1;
                    into.add(&mut tx, &line).await?;
                }
                _ => {
                    into.flush(&mut tx).await?;
                    let Ok(begin) = serde_json::from_slice::<Begin>(&line) else {
                        break;
                    };
                    table.clone_from(&begin.table);
                    rows.insert(begin.table.clone(), 0);
                    into.table(begin)?;
                }
            }
        }
        if rows != end.rows {
            return Err(damaged("it does not have the rows that its last line names").into());
        }
        schema::migrate(&mut tx, None).await?;
        recovery::begin(&mut tx, now, header.made_at).await?;
        let keys = secrets::used(&mut tx).await?.into_keys().filter(|id| !id.is_empty()).collect();
        tx.commit().await?;
        Ok::<_, Fault>(keys)
    };
    done.await.map_err(Error::from)
}

struct Into {
    known: Vec<Table>,
    dialect: Dialect,
    now: Option<String>,
    rows: Vec<u8>,
    bytes: usize,
}

impl Into {
    /// Goes on with another table.
    fn table(&mut self, begin: Begin) -> Result<()> {
        let unknown = || damaged(&format!("table {} does not fit its schema", begin.table));
        let table = self.known.iter().find(|t| t.name == begin.table).ok_or_else(unknown)?;
        let mut values = Vec::new();
        for (i, name) in begin.columns.iter().enumerate() {
            let column = table.columns.iter().find(|c| c.name == *name).ok_or_else(unknown)?;
            values.push(match (self.dialect, column.kind) {
                (Dialect::Sqlite, Kind::Bytes) => format!("unhex(value ->> {i})"),
                (Dialect::Sqlite, _) => format!("value ->> {i}"),
                (Dialect::Postgres, Kind::Text) => format!("value ->> {i}"),
                (Dialect::Postgres, Kind::BigInt) => format!("CAST(value ->> {i} AS BIGINT)"),
                (Dialect::Postgres, Kind::Bytes) => format!("decode(value ->> {i}, 'hex')"),
            });
        }
        let columns: Vec<_> = begin.columns.iter().map(|name| quoted(name)).collect();
        let source = match self.dialect {
            Dialect::Sqlite => "json_each($1)",
            Dialect::Postgres => "json_array_elements(CAST($1 AS JSON)) AS rows (value)",
        };
        self.now = Some(format!(
            "INSERT INTO {} ({}) SELECT {} FROM {source}",
            quoted(&begin.table),
            columns.join(", "),
            values.join(", ")
        ));
        Ok(())
    }

    async fn add(&mut self, db: &mut AnyConnection, line: &[u8]) -> Outcome<()> {
        self.rows.push(if self.bytes == 0 { b'[' } else { b',' });
        self.rows.extend_from_slice(line.trim_ascii_end());
        self.bytes += 1;
        if self.bytes >= BATCH || self.rows.len() >= BATCH_BYTES {
            self.flush(db).await?;
        }
        Ok(())
    }

    async fn flush(&mut self, db: &mut AnyConnection) -> Outcome<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        self.bytes = 0;
        let mut rows = std::mem::take(&mut self.rows);
        rows.push(b']');
        let rows = String::from_utf8(rows).map_err(|_| damaged("a row is not text"))?;
        let sql = self.now.clone().ok_or_else(|| damaged("a row comes before its table"))?;
        sqlx::query(AssertSqlSafe(sql)).bind(rows).execute(db).await?;
        Ok(())
    }
}

/// Reads a backup to its end and compares its checksum.
fn check(from: &mut impl BufRead) -> Result<(Header, End)> {
    let mut hash = Sha256::new();
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line).map_err(Error::internal)?;
    let header: Header = serde_json::from_slice(&line).map_err(|_| {
        Error::new(Cause::InvalidRequest, "this is not a backup of Suanli")
            .hint("name a file that `suanli backup` made")
    })?;
    if header.suanli_backup != FORM || header.schema > schema::newest() {
        return Err(Error::new(
            Cause::HostIncomplete,
            format!("the backup was made by a newer server ({}, schema {})", header.server, header.schema),
        )
        .hint("restore it with that version of suanli, or a later one; nothing was restored"));
    }
    loop {
        let last = serde_json::from_slice::<Last>(&line).ok().filter(|_| line.starts_with(b"{\"end\""));
        if let Some(last) = last {
            let rest = from.fill_buf().map_err(Error::internal)?;
            if !rest.is_empty() {
                return Err(damaged("something follows its last line"));
            }
            if hex::encode(hash.finalize()) != last.end.sha256 {
                return Err(damaged("its checksum is another"));
            }
            return Ok((header, last.end));
        }
        hash.update(&line);
        line.clear();
        if from.read_until(b'\n', &mut line).map_err(Error::internal)? == 0 {
            return Err(damaged("it is cut off: its last line is missing"));
        }
    }
}

fn damaged(why: &str) -> Error {
    Error::new(Cause::InvalidRequest, format!("the backup is damaged: {why}"))
        .hint("take another copy of it; nothing was restored")
}

fn used(why: &str) -> Error {
    Error::new(Cause::AlreadyExists, format!("a backup is restored into an empty place only: {why}"))
        .hint("name an empty place; to replace a site, move its old data away first")
}

fn open(file: &Path) -> Result<File> {
    File::open(file).map_err(|e| unreadable(file, &e))
}

fn unreadable(file: &Path, error: &std::io::Error) -> Error {
    let cause = match error.kind() {
        std::io::ErrorKind::NotFound => Cause::NotFound,
        _ => Cause::InvalidRequest,
    };
    Error::new(cause, format!("{} cannot be read: {error}", file.display()))
        .hint("name a file that `suanli backup` made")
}

fn sqlite_path(url: &str) -> Result<PathBuf> {
    let path = url.strip_prefix("sqlite://").and_then(|rest| rest.split('?').next()).filter(|p| !p.is_empty());
    path.map(PathBuf::from).ok_or_else(|| {
        Error::new(Cause::InvalidRequest, "the database address has no file").hint("use sqlite:///path/to/file.db")
    })
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn refuse_used(place: &Path) -> Result<()> {
    let files = [place.to_owned(), beside(place, "-wal"), beside(place, "-journal")];
    match files.iter().find(|f| f.exists()) {
        Some(file) => Err(used(&format!("{} exists", file.display()))),
        None => Ok(()),
    }
}

fn remove(part: &Path) {
    for file in [part.to_owned(), beside(part, "-wal"), beside(part, "-shm"), beside(part, "-journal")] {
        // Not there is what is wanted.
        drop(std::fs::remove_file(file));
    }
}

fn put_in_place(part: &Path, place: &Path) -> Result<()> {
    let failed = |e: std::io::Error| {
        Error::new(Cause::Unavailable, "the restored database cannot be put in its place").context(e)
    };
    File::open(part).and_then(|f| f.sync_all()).map_err(failed)?;
    // A link never replaces a database that somebody has made meanwhile.
    std::fs::hard_link(part, place).and_then(|()| std::fs::remove_file(part)).map_err(failed)?;
    let folder = place.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|f| f.sync_all()).map_err(failed)
}
