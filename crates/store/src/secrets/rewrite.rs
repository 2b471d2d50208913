//! Rewriting what another key has sealed, or nobody yet. It can end anywhere and
//! be begun again: what is done already is passed over.

use std::collections::BTreeMap;

use base::{Cause, Error, Result};
use futures_util::FutureExt;
use sqlx::{AnyConnection, Connection, Row};

use super::{CANARY, ENV, Keyring, ON_START, Place, missing, open};
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

/// How many values each key has sealed, by key id; those not sealed at all are
/// under an empty id.
pub async fn used(db: &mut AnyConnection) -> Outcome<BTreeMap<String, i64>> {
    let rows = sqlx::query(
        "SELECT CASE WHEN value LIKE 'enc:%' THEN substr(value, 5, 8) ELSE '' END AS id, COUNT(*) AS n FROM (
            SELECT env AS value FROM instances UNION ALL SELECT on_start FROM instances WHERE on_start IS NOT NULL
            UNION ALL SELECT value FROM site WHERE key = 'secrets'
         ) AS secrets GROUP BY 1 ORDER BY 1",
    )
    .fetch_all(db)
    .await?;
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
        if crate::schema::is_empty(&mut db, dialect).await? || crate::schema::version(&mut db).await? < 2 {
            return Ok::<_, Fault>(BTreeMap::new());
        }
        used(&mut db).await
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

async fn batch(tx: &mut Tx<'_>, after: &str) -> Outcome<Progress> {
    let Some(keys) = tx.keys() else {
        return Ok(Progress { changed: 0, next: None });
    };
    let mark = keys.mark()?;
    if after.is_empty() {
        canary(tx, &keys, &mark).await?;
    }
    let rows = sqlx::query(
        "SELECT id, env, on_start FROM instances WHERE id > $1 AND (substr(env, 1, 13) <> $2 OR
            (on_start IS NOT NULL AND substr(on_start, 1, 13) <> $2)) ORDER BY id LIMIT $3",
    )
    .bind(after)
    .bind(mark.as_str())
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
    if rows.len() < usize::try_from(BATCH).unwrap_or(usize::MAX) {
        progress.next = None;
    }
    Ok(progress)
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
