//! What tables there are, asked from the schema itself, so that a new one cannot
//! be forgotten.

use std::collections::{BTreeMap, BTreeSet};

use base::Error;
use sqlx::{AnyConnection, Row};

use crate::{Dialect, Outcome};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// 64-bit integer.
    BigInt,
    /// Bytes; hex in a backup.
    Bytes,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type.
    pub kind: Kind,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Name.
    pub name: String,
    /// In the order of their declaration.
    pub columns: Vec<Column>,
    /// Names of the columns of the primary key.
    pub key: Vec<String>,
}

const SQLITE_COLUMNS: &str = "\
    SELECT m.name AS tbl, c.name AS col, CAST(c.type AS TEXT) AS type, CAST(c.pk AS BIGINT) AS pk
    FROM sqlite_master m JOIN pragma_table_info(m.name) c
    WHERE m.type = 'table' AND substr(m.name, 1, 7) <> 'sqlite_' AND m.name <> '_sqlx_migrations'
    ORDER BY m.name, c.cid";
const SQLITE_REFERENCES: &str = "\
    SELECT m.name AS tbl, f.\"table\" AS other FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f
    WHERE m.type = 'table'";
const POSTGRES_COLUMNS: &str = "\
    SELECT CAST(c.table_name AS TEXT) AS tbl, CAST(c.column_name AS TEXT) AS col, CAST(c.data_type AS TEXT) AS type,
        CAST(COALESCE((SELECT k.ordinal_position FROM information_schema.table_constraints p
            JOIN information_schema.key_column_usage k ON k.constraint_schema = p.constraint_schema
                AND k.constraint_name = p.constraint_name AND k.table_name = p.table_name
            WHERE p.constraint_type = 'PRIMARY KEY' AND p.table_schema = c.table_schema
                AND p.table_name = c.table_name AND k.column_name = c.column_name), 0) AS BIGINT) AS pk
    FROM information_schema.columns c JOIN information_schema.tables t
        ON t.table_schema = c.table_schema AND t.table_name = c.table_name AND t.table_type = 'BASE TABLE'
    WHERE c.table_schema = current_schema() AND c.table_name <> '_sqlx_migrations'
    ORDER BY c.table_name, c.ordinal_position";
const POSTGRES_REFERENCES: &str = "\
    SELECT CAST(a.relname AS TEXT) AS tbl, CAST(b.relname AS TEXT) AS other FROM pg_constraint c
        JOIN pg_class a ON a.oid = c.conrelid JOIN pg_class b ON b.oid = c.confrelid
        JOIN pg_namespace n ON n.oid = a.relnamespace
    WHERE c.contype = 'f' AND n.nspname = current_schema()";

/// Every table of the database but the list of migrations, each after those that
/// it refers to.
///
/// # Errors
/// A table that a backup could not hold: without a primary key, with a type other
/// than text, integers and bytes, or in a circle of references.
pub async fn tables(db: &mut AnyConnection, dialect: Dialect) -> Outcome<Vec<Table>> {
    let (columns, references) = match dialect {
        Dialect::Sqlite => (SQLITE_COLUMNS, SQLITE_REFERENCES),
        Dialect::Postgres => (POSTGRES_COLUMNS, POSTGRES_REFERENCES),
    };
    let mut found: BTreeMap<String, (Table, BTreeMap<i64, String>)> = BTreeMap::new();
    for row in sqlx::query(columns).fetch_all(&mut *db).await? {
        let (table, column): (String, String) = (row.try_get("tbl")?, row.try_get("col")?);
        let kind = kind(&table, &column, row.try_get("type")?)?;
        let place: i64 = row.try_get("pk")?;
        let (entry, key) = found
            .entry(table.clone())
            .or_insert_with(|| (Table { name: table, columns: vec![], key: vec![] }, BTreeMap::new()));
        if place > 0 {
            key.insert(place, column.clone());
        }
        entry.columns.push(Column { name: column, kind });
    }
    let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in sqlx::query(references).fetch_all(&mut *db).await? {
        let (table, other): (String, String) = (row.try_get("tbl")?, row.try_get("other")?);
        needs.entry(table).or_default().insert(other);
    }
    let mut all = Vec::new();
    for (name, (mut table, key)) in found {
        if key.is_empty() {
            return Err(Error::internal(format!("table {name} has no primary key")).into());
        }
        table.key = key.into_values().collect();
        all.push(table);
    }
    in_order(all, &needs)
}

fn kind(table: &str, column: &str, kind: String) -> Outcome<Kind> {
    match kind.to_ascii_lowercase().as_str() {
        "text" => Ok(Kind::Text),
        "bigint" => Ok(Kind::BigInt),
        "bytea" => Ok(Kind::Bytes),
        other => Err(Error::internal(format!("column {table}.{column} has the type {other}")).into()),
    }
}

fn in_order(mut rest: Vec<Table>, needs: &BTreeMap<String, BTreeSet<String>>) -> Outcome<Vec<Table>> {
    let mut placed: Vec<Table> = Vec::new();
    while !rest.is_empty() {
        let done: BTreeSet<&str> = placed.iter().map(|t| t.name.as_str()).collect();
        let ready = |t: &Table| {
            needs.get(&t.name).is_none_or(|needs| needs.iter().all(|n| *n == t.name || done.contains(n.as_str())))
        };
        let Some(next) = rest.iter().position(ready) else {
            return Err(Error::internal("tables refer to each other in a circle").into());
        };
        placed.push(rest.remove(next));
    }
    Ok(placed)
}

/// A name as SQL takes it whatever it is.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
