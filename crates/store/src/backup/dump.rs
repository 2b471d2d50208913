//! Writing a backup: one snapshot of everything, in bounded memory.

use std::collections::BTreeMap;
use std::time::Duration;

use base::{Cause, Error, Result, Timestamp};
use futures_util::TryStreamExt;
use serde::Serialize;
use sha2::{Digest, Sha256};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Row};
use tokio::sync::mpsc;

use super::tables::{Kind, Table, quoted, tables};
use super::{Begin, End, FORM, Header, Last};
use crate::{Dialect, Outcome, Store, schema};

/// Bytes that are handed on at once.
const PIECE: usize = 64 * 1024;

/// How long a reader may take nothing. The snapshot is held for him, and an old
/// snapshot costs the database.
const PATIENCE: Duration = Duration::from_secs(120);

/// Sends the whole database as it is at one moment, piece by piece; `made_at` goes
/// into its first line. Rows by table.
///
/// # Errors
/// The database's; `unavailable` when the receiver is gone or stands still. What
/// was sent by then has no last line.
pub async fn stream(store: &Store, made_at: Timestamp, to: mpsc::Sender<Vec<u8>>) -> Result<BTreeMap<String, i64>> {
    let dialect = store.dialect();
    store.snapshot(move |db| Box::pin(async move { everything(db, dialect, made_at, to).await })).await
}

async fn everything(
    db: &mut AnyConnection,
    dialect: Dialect,
    made_at: Timestamp,
    to: mpsc::Sender<Vec<u8>>,
) -> Outcome<BTreeMap<String, i64>> {
    if dialect == Dialect::Postgres {
        // It reads only, and its reader may be slow.
        sqlx::query("SET LOCAL idle_in_transaction_session_timeout = 0").execute(&mut *db).await?;
    }
    let mut out = Out { to, piece: Vec::with_capacity(2 * PIECE), hash: Sha256::new() };
    let schema = schema::version(db).await?;
    out.json(&Header { suanli_backup: FORM, schema, server: schema::SERVER.into(), made_at }).await?;
    let mut rows = BTreeMap::new();
    for table in tables(db, dialect).await? {
        let columns = table.columns.iter().map(|c| c.name.clone()).collect();
        out.json(&Begin { table: table.name.clone(), columns }).await?;
        let count = one_table(db, dialect, &table, &mut out).await?;
        rows.insert(table.name, count);
    }
    out.finish(rows).await
}

async fn one_table(db: &mut AnyConnection, dialect: Dialect, table: &Table, out: &mut Out) -> Outcome<i64> {
    let columns: Vec<_> = table.columns.iter().map(|c| quoted(&c.name)).collect();
    let order: Vec<_> = table.key.iter().map(|name| ordered(dialect, table, name)).collect();
    let sql = format!("SELECT {} FROM {} ORDER BY {}", columns.join(", "), quoted(&table.name), order.join(", "));
    let mut rows = sqlx::query(AssertSqlSafe(sql)).fetch(db);
    let mut count = 0;
    while let Some(row) = rows.try_next().await? {
        write_row(&mut out.piece, table, &row)?;
        count += 1;
        if out.piece.len() >= PIECE {
            out.send().await?;
        }
    }
    Ok(count)
}

/// By bytes in both databases, whatever the language of the place.
fn ordered(dialect: Dialect, table: &Table, name: &str) -> String {
    let text = table.columns.iter().any(|c| c.name == name && c.kind == Kind::Text);
    match dialect {
        Dialect::Postgres if text => format!("{} COLLATE \"C\"", quoted(name)),
        _ => quoted(name),
    }
}

fn write_row(line: &mut Vec<u8>, table: &Table, row: &AnyRow) -> Outcome<()> {
    line.push(b'[');
    for (i, column) in table.columns.iter().enumerate() {
        if i > 0 {
            line.push(b',');
        }
        match column.kind {
            Kind::Text => json(line, &row.try_get::<Option<String>, _>(i)?)?,
            Kind::BigInt => json(line, &row.try_get::<Option<i64>, _>(i)?)?,
            Kind::Bytes => json(line, &row.try_get::<Option<Vec<u8>>, _>(i)?.map(hex::encode))?,
        }
    }
    line.extend_from_slice(b"]\n");
    Ok(())
}

fn json<T: Serialize>(line: &mut Vec<u8>, value: &T) -> Outcome<()> {
    serde_json::to_writer(line, value).map_err(|e| Error::internal(e).into())
}

struct Out {
    to: mpsc::Sender<Vec<u8>>,
    piece: Vec<u8>,
    hash: Sha256,
}

impl Out {
    async fn json<T: Serialize>(&mut self, value: &T) -> Outcome<()> {
        json(&mut self.piece, value)?;
        self.piece.push(b'\n');
        if self.piece.len() >= PIECE {
            self.send().await?;
        }
        Ok(())
    }

    async fn send(&mut self) -> Outcome<()> {
        self.hash.update(&self.piece);
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(2 * PIECE));
        let gone = || Error::new(Cause::Unavailable, "nobody takes the backup any more").hint("begin it again");
        match tokio::time::timeout(PATIENCE, self.to.send(piece)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(gone().into()),
        }
    }

    async fn finish(mut self, rows: BTreeMap<String, i64>) -> Outcome<BTreeMap<String, i64>> {
        self.send().await?;
        let sha256 = hex::encode(self.hash.clone().finalize());
        self.json(&Last { end: End { rows: rows.clone(), sha256 } }).await?;
        self.send().await?;
        Ok(rows)
    }
}
