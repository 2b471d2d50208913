//! Rewriting what another key has sealed, or nobody yet. It can end anywhere and
//! be begun again: what is done already is passed over.

use std::collections::BTreeMap;

use base::{Cause, Error, Result};
use futures_util::FutureExt;
use sqlx::{AnyConnection, Connection, Row};

use super::{
    CANARY, ENV, FLOW, HANDOVER, Keyring, ON_START, OUTBOX, Place, SETTINGS, SETTINGS_KEY, TOTP, missing, open,
};
use crate::{Fault, Outcome, Store, Tx, site};

/// Key in `site` of the known text.
const CANARY_KEY: &str = "secrets";

/// Rows that one transaction rewrites.
const BATCH: i64 = 200;

/// How far one batch came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Rows rewritten.
    pub changed: u64,
    /// Where to go on; `None`: everything is sealed with the first key.
    pub next: Option<String>,
}

macro_rules! used_sql {
    ($more:literal) => {
        concat!(
            "SELECT CASE WHEN value LIKE 'enc:%' THEN substr(value, 5, 8) ELSE '' END AS id, COUNT(*) AS n FROM (
                SELECT env AS value FROM instances
                UNION ALL SELECT on_start FROM instances WHERE on_start IS NOT NULL
                UNION ALL SELECT value FROM site WHERE key IN ('secrets', 'settings') ",
            $more,
            ") AS secrets GROUP BY 1 ORDER BY 1"
        )
    };
}

/// How many values each key has sealed, by key id; those not sealed at all are
/// under an empty id.
pub async fn used(db: &mut AnyConnection) -> Outcome<BTreeMap<String, i64>> {
    let sql = used_sql!(
        "UNION ALL SELECT totp_secret FROM users WHERE totp_secret IS NOT NULL
         UNION ALL SELECT handover FROM api_tokens WHERE handover IS NOT NULL
         UNION ALL SELECT data FROM outbox WHERE data IS NOT NULL
         UNION ALL SELECT data FROM oidc_flows"
    );
    count(db, sql).await
}

async fn count(db: &mut AnyConnection, sql: &'static str) -> Outcome<BTreeMap<String, i64>> {
    let rows = sqlx::query(sql).fetch_all(db).await?;
    rows.iter().map(|row| Ok((row.try_get("id")?, row.try_get("n")?))).collect()
}

/// As [`used`], of the database at `url`, which is not changed. Empty where it
/// has no tables yet.
///
/// # Errors
/// The database cannot be reached.
pub async fn used_at(url: &str) -> Result<BTreeMap<String, i64>> {
    sqlx::any::install_default_drivers();
    let dialect = crate::dialect(url)?;
    let mut db = AnyConnection::connect(url).await.map_err(|e| {
        Error::new(Cause::NotFound, "there is no database that can be opened")
            .hint("name the server's place with --data or --database")
            .context(e)
    })?;
    let found = async {
        if crate::schema::is_empty(&mut db, dialect).await? {
            return Ok::<_, Fault>(BTreeMap::new());
        }
        match crate::schema::version(&mut db).await? {
            ..2 => Ok(BTreeMap::new()),
            // Before there were people with secrets of their own.
            2 => count(&mut db, used_sql!("")).await,
            _ => used(&mut db).await,
        }
    };
    let found = found.await.map_err(Error::from);
    drop(db.close().await);
    found
}

/// Makes sure that `keys` open everything, and seals a known text with them if
/// there is none yet.
pub(crate) async fn check(store: &Store, keys: &Keyring) -> Result<()> {
    let found = {
        let mut db = store.read().await?;
        used(&mut db).await.map_err(Error::from)?
    };
    let ids = keys.ids();
    let absent: Vec<_> = found.keys().map(String::as_str).filter(|id| !id.is_empty() && !ids.contains(id)).collect();
    if !absent.is_empty() {
        return Err(missing(&absent));
    }
    let keys = keys.clone();
    store
        .write(move |tx| {
            let keys = keys.clone();
            async move {
                let sealed = keys.seal(CANARY, CANARY_KEY, "suanli")?;
                if site::set_new(tx, CANARY_KEY, &sealed).await? {
                    return Ok(());
                }
                // Another server with another key may have been first.
                let found = site::get(tx, CANARY_KEY).await?.unwrap_or_default();
                match super::key_id(&found) {
                    Some(id) if !keys.ids().contains(&id) => Err(missing(&[id]).into()),
                    _ => Ok(open(CANARY, CANARY_KEY, found).map(drop)?),
                }
            }
            .boxed()
        })
        .await
}

/// Seals a batch of rows behind `after` anew with the first key of the store.
/// Call it again with `next` until that is `None`.
///
/// # Errors
/// The database's; a value whose key is not there.
pub async fn rewrite(store: &Store, after: &str) -> Result<Progress> {
    let after = after.to_owned();
    store
        .write(move |tx| {
            let after = after.clone();
            async move { batch(tx, &after).await }.boxed()
        })
        .await
}

/// Seals a batch of one column anew.
macro_rules! column {
    ($tx:ident, $keys:ident, $mark:ident, $after:ident, $place:ident, $table:literal, $id:literal, $column:literal) => {{
        let rows = sqlx::query(concat!(
            "SELECT ",
            $id,
            " AS id, ",
            $column,
            " AS value FROM ",
            $table,
            " WHERE ",
            $id,
            " > $1 AND ",
            $column,
            " IS NOT NULL AND substr(",
            $column,
            ", 1, 13) <> $2 ORDER BY ",
            $id,
            " LIMIT $3"
        ))
        .bind($after)
        .bind($mark.as_str())
        .bind(BATCH)
        .fetch_all(&mut **$tx)
        .await?;
        let mut progress = Progress { changed: 0, next: None };
        for row in &rows {
            let (id, old): (String, String) = (row.try_get("id")?, row.try_get("value")?);
            let new = $keys.seal($place, &id, &open($place, &id, old.clone())?)?;
            let sql = concat!("UPDATE ", $table, " SET ", $column, " = $2 WHERE ", $id, " = $1 AND ", $column, " = $3");
            let done = sqlx::query(sql).bind(id.as_str()).bind(new).bind(old).execute(&mut **$tx).await?;
            progress.changed += done.rows_affected();
            progress.next = Some(id);
        }
        more(&rows, progress)
    }};
}

async fn batch(tx: &mut Tx<'_>, after: &str) -> Outcome<Progress> {
    let Some(keys) = tx.keys() else {
        return Ok(Progress { changed: 0, next: None });
    };
    let mark = keys.mark()?;
    let (part, after) = after.split_once(' ').unwrap_or((INSTANCES, after));
    let mut progress = match part {
        INSTANCES => {
            if after.is_empty() {
                canary(tx, &keys, &mark).await?;
                settings(tx, &mark).await?;
            }
            instances(tx, &keys, &mark, after).await?
        }
        "users" => column!(tx, keys, mark, after, TOTP, "users", "id", "totp_secret"),
        "api_tokens" => column!(tx, keys, mark, after, HANDOVER, "api_tokens", "id", "handover"),
        "outbox" => column!(tx, keys, mark, after, OUTBOX, "outbox", "id", "data"),
        _ => column!(tx, keys, mark, after, FLOW, "oidc_flows", "state_hash", "data"),
    };
    let following = PARTS.iter().skip_while(|p| **p != part).nth(1);
    progress.next = match progress.next {
        Some(last) => Some(format!("{part} {last}")),
        None => following.map(|next| format!("{next} ")),
    };
    Ok(progress)
}

/// Where secrets lie, in the order in which they are sealed anew. A cursor is one
/// of these, a blank, and the row that was last.
const PARTS: [&str; 5] = [INSTANCES, "users", "api_tokens", "outbox", "oidc_flows"];
const INSTANCES: &str = "instances";

/// A batch that was not full was the last one.
fn more(rows: &[sqlx::any::AnyRow], mut progress: Progress) -> Progress {
    if rows.len() < usize::try_from(BATCH).unwrap_or(usize::MAX) {
        progress.next = None;
    }
    progress
}

async fn instances(tx: &mut Tx<'_>, keys: &Keyring, mark: &str, after: &str) -> Outcome<Progress> {
    let rows = sqlx::query(
        "SELECT id, env, on_start FROM instances WHERE id > $1 AND (substr(env, 1, 13) <> $2 OR
            (on_start IS NOT NULL AND substr(on_start, 1, 13) <> $2)) ORDER BY id LIMIT $3",
    )
    .bind(after)
    .bind(mark)
    .bind(BATCH)
    .fetch_all(&mut **tx)
    .await?;
    let mut progress = Progress { changed: 0, next: None };
    for row in &rows {
        let id: String = row.try_get("id")?;
        let (env, on_start): (String, Option<String>) = (row.try_get("env")?, row.try_get("on_start")?);
        let again = |place: Place, text: String| keys.seal(place, &id, &open(place, &id, text)?);
        let new = (again(ENV, env.clone())?, on_start.clone().map(|text| again(ON_START, text)).transpose()?);
        let done = sqlx::query("UPDATE instances SET env = $2, on_start = $3 WHERE id = $1 AND env = $4")
            .bind(id.as_str())
            .bind(new.0)
            .bind(new.1)
            .bind(env)
            .execute(&mut **tx)
            .await?;
        progress.changed += done.rows_affected();
        progress.next = Some(id);
    }
    Ok(more(&rows, progress))
}

async fn settings(tx: &mut Tx<'_>, mark: &str) -> Outcome<()> {
    match site::get(tx, SETTINGS_KEY).await? {
        Some(text) if !text.starts_with(mark) => {
            let sealed = tx.sealed(SETTINGS, SETTINGS_KEY, &open(SETTINGS, SETTINGS_KEY, text)?)?;
            site::set(tx, SETTINGS_KEY, &sealed).await
        }
        _ => Ok(()),
    }
}

async fn canary(tx: &mut Tx<'_>, keys: &Keyring, mark: &str) -> Outcome<()> {
    match site::get(tx, CANARY_KEY).await? {
        Some(text) if !text.starts_with(mark) => {
            let sealed = keys.seal(CANARY, CANARY_KEY, &open(CANARY, CANARY_KEY, text)?)?;
            site::set(tx, CANARY_KEY, &sealed).await
        }
        _ => Ok(()),
    }
}
