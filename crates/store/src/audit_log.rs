//! Who did what: written in the transaction of the deed, numbered and chained
//! afterwards, so that the writers of one moment do not wait for each other.
//!
//! The hash of an entry is SHA-256 over the hash before it and every field of the
//! entry: whoever changes, removes or inserts one breaks every hash behind it.

use base::{AccountId, AuditId, Cause, Error, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::row::{json_opt, parsed, parsed_opt, time, to_json};
use crate::words::words;
use crate::{Fault, Outcome, Tx};

/// Entries that one transaction chains at most.
const BATCH: i64 = 500;

words! {
    /// What kind of somebody acted.
    ActorKind {
        /// A user who was signed in.
        User = "user",
        /// A program with an API token.
        Token = "token",
        /// A program inside an instance.
        Instance = "instance",
        /// The site itself.
        System = "system",
        /// Nobody who is known.
        Stranger = "stranger",
    }
}

words! {
    /// How it ended.
    Ended {
        /// It was done.
        Done = "done",
        /// It was not allowed or not possible.
        Refused = "refused",
        /// It broke.
        Failed = "failed",
    }
}

/// Somebody who acts, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// What kind.
    pub kind: ActorKind,
    /// His id.
    pub id: Option<String>,
    /// His name at that moment.
    pub name: Option<String>,
    /// From where.
    pub address: Option<String>,
    /// The request.
    pub request: Option<String>,
}

/// What somebody did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// What, in the words of the API.
    pub action: String,
    /// To what.
    pub object: Option<String>,
    /// Whose that is.
    pub account: Option<AccountId>,
    /// How it ended.
    pub ended: Ended,
    /// Why not.
    pub code: Option<Cause>,
    /// What it was before. Never a secret.
    pub was: Option<Value>,
    /// What it is since. Never a secret.
    pub became: Option<Value>,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Id.
    pub id: AuditId,
    /// Its number, from 1 without a gap; absent for a moment.
    pub seq: Option<i64>,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// What.
    pub deed: Deed,
    /// Its hash, hex; absent for a moment.
    pub hash: Option<String>,
}

/// Writes an entry, as a part of the deed's own transaction.
pub async fn record(tx: &mut Tx<'_>, now: Timestamp, actor: &Actor, deed: &Deed) -> Outcome<()> {
    let id = AuditId::new(now, tx.in_order());
    sqlx::query(
        "INSERT INTO audit_log (id, at, actor_kind, actor_id, actor_name, address, action, object, account_id, result,
            code, was, became, request_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    )
    .bind(id.as_str())
    .bind(now.micros())
    .bind(actor.kind.as_str())
    .bind(actor.id.as_deref())
    .bind(actor.name.as_deref())
    .bind(actor.address.as_deref())
    .bind(deed.action.as_str())
    .bind(deed.object.as_deref())
    .bind(deed.account.as_ref().map(AccountId::as_str))
    .bind(deed.ended.as_str())
    .bind(deed.code.map(Cause::code))
    .bind(deed.was.as_ref().map(to_json).transpose()?)
    .bind(deed.became.as_ref().map(to_json).transpose()?)
    .bind(actor.request.as_deref())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

macro_rules! columns {
    () => {
        "id, seq, at, actor_kind, actor_id, actor_name, address, action, object, account_id, result, code, was, \
         became, request_id, hash"
    };
}

fn entry(row: &AnyRow) -> Outcome<Entry> {
    Ok(Entry {
        id: parsed(row, "id")?,
        seq: row.try_get("seq")?,
        at: time(row, "at")?,
        actor: Actor {
            kind: parsed(row, "actor_kind")?,
            id: row.try_get("actor_id")?,
            name: row.try_get("actor_name")?,
            address: row.try_get("address")?,
            request: row.try_get("request_id")?,
        },
        deed: Deed {
            action: row.try_get("action")?,
            object: row.try_get("object")?,
            account: parsed_opt(row, "account_id")?,
            ended: parsed(row, "result")?,
            code: parsed_opt(row, "code")?,
            was: json_opt(row, "was")?,
            became: json_opt(row, "became")?,
        },
        hash: row.try_get("hash")?,
    })
}

/// The hash of an entry with this number behind an entry with that hash.
fn chained(before: &str, seq: i64, e: &Entry) -> Outcome<String> {
    let fields = serde_json::json!([
        before,
        seq,
        e.id.as_str(),
        e.at.micros(),
        e.actor.kind.as_str(),
        e.actor.id,
        e.actor.name,
        e.actor.address,
        e.actor.request,
        e.deed.action,
        e.deed.object,
        e.deed.account,
        e.deed.ended.as_str(),
        e.deed.code.map(Cause::code),
        e.deed.was,
        e.deed.became,
    ]);
    Ok(hex::encode(Sha256::digest(to_json(&fields)?.as_bytes())))
}

/// Numbers and chains entries that are not yet; how many that were. Two servers
/// that do it at once: the unique number refuses the second, who tries again.
pub async fn chain(tx: &mut Tx<'_>) -> Outcome<usize> {
    let fresh = sqlx::query(concat!("SELECT ", columns!(), " FROM audit_log WHERE seq IS NULL ORDER BY id LIMIT $1"))
        .bind(BATCH)
        .fetch_all(&mut **tx)
        .await?;
    if fresh.is_empty() {
        return Ok(0);
    }
    let last = sqlx::query("SELECT seq, hash FROM audit_log WHERE seq IS NOT NULL ORDER BY seq DESC LIMIT 1")
        .fetch_optional(&mut **tx)
        .await?;
    let start = cut(tx).await?;
    let (mut seq, mut hash) = match last {
        Some(row) => (row.try_get::<i64, _>("seq")?, row.try_get::<String, _>("hash")?),
        None => (start.seq, start.hash),
    };
    for row in &fresh {
        let entry = entry(row)?;
        seq += 1;
        hash = chained(&hash, seq, &entry)?;
        let done = sqlx::query("UPDATE audit_log SET seq = $2, hash = $3 WHERE id = $1 AND seq IS NULL")
            .bind(entry.id.as_str())
            .bind(seq)
            .bind(hash.as_str())
            .execute(&mut **tx)
            .await?;
        if done.rows_affected() == 0 {
            return Err(Fault::Again(Error::internal("another server chains the audit log too")));
        }
    }
    Ok(fresh.len())
}

/// Whether anything waits to be chained.
pub async fn any_fresh(db: &mut AnyConnection) -> Outcome<bool> {
    Ok(sqlx::query("SELECT id FROM audit_log WHERE seq IS NULL LIMIT 1").fetch_optional(db).await?.is_some())
}

/// Which entries are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Id or name of who acted.
    pub actor: Option<String>,
    /// What was done.
    pub action: Option<String>,
    /// To what.
    pub object: Option<String>,
    /// Not before.
    pub from: Option<Timestamp>,
    /// Before.
    pub to: Option<Timestamp>,
}

/// Entries below the number `before`, newest first; only chained ones.
pub async fn list(db: &mut AnyConnection, filter: &Filter, before: i64, limit: i64) -> Outcome<Vec<Entry>> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM audit_log WHERE seq < $1 AND ($2 = '' OR actor_id = $2 OR actor_name = $2)
            AND ($3 = '' OR action = $3) AND ($4 = '' OR object = $4) AND at >= $5 AND at < $6
          ORDER BY seq DESC LIMIT $7"
    ))
    .bind(before)
    .bind(filter.actor.as_deref().unwrap_or_default())
    .bind(filter.action.as_deref().unwrap_or_default())
    .bind(filter.object.as_deref().unwrap_or_default())
    .bind(filter.from.map_or(i64::MIN, Timestamp::micros))
    .bind(filter.to.map_or(i64::MAX, Timestamp::micros))
    .bind(limit)
    .fetch_all(db)
    .await?;
    rows.iter().map(entry).collect()
}

/// Entries behind the number `after`, oldest first.
pub async fn after(db: &mut AnyConnection, after: i64, limit: i64) -> Outcome<Vec<Entry>> {
    let rows = sqlx::query(concat!("SELECT ", columns!(), " FROM audit_log WHERE seq > $1 ORDER BY seq LIMIT $2"))
        .bind(after)
        .bind(limit)
        .fetch_all(db)
        .await?;
    rows.iter().map(entry).collect()
}

/// Where the log begins: what was before was removed when its time was over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Number of the last entry that was removed.
    pub seq: i64,
    /// Its hash: the first entry that is left is chained to it.
    pub hash: String,
}

/// Key in `site` of the [`Cut`].
const CUT: &str = "audit_log_cut";

/// Where the log begins.
pub async fn cut(db: &mut AnyConnection) -> Outcome<Cut> {
    let text = crate::site::get(db, CUT).await?;
    Ok(text.map(|text| serde_json::from_str(&text).map_err(Error::internal)).transpose()?.unwrap_or_default())
}

/// Key in `site` of the number of days for which entries are kept.
const KEEP: &str = "audit_log_days";

/// For how many days entries are kept; `None`: for ever.
pub async fn keep_days(db: &mut AnyConnection) -> Outcome<Option<i64>> {
    let text = crate::site::get(db, KEEP).await?;
    Ok(text.map(|text| text.parse().map_err(Error::internal)).transpose()?)
}

/// Keeps entries for so many days from now on; `None`: for ever.
pub async fn set_keep_days(tx: &mut Tx<'_>, days: Option<i64>) -> Outcome<()> {
    match days {
        Some(days) => crate::site::set(tx, KEEP, &days.to_string()).await,
        None => crate::site::remove(tx, KEEP).await.map(|_| ()),
    }
}

/// Removes entries from before `before`; how many. What is left stays provable.
pub async fn retain(tx: &mut Tx<'_>, before: Timestamp) -> Outcome<u64> {
    // Two servers that remove at once must not write the smaller cut over the larger.
    crate::site::set_new(tx, CUT, &to_json(&Cut::default())?).await?;
    sqlx::query("UPDATE site SET value = value WHERE key = $1").bind(CUT).execute(&mut **tx).await?;
    let last =
        sqlx::query("SELECT seq, hash FROM audit_log WHERE at < $1 AND seq IS NOT NULL ORDER BY seq DESC LIMIT 1")
            .bind(before.micros())
            .fetch_optional(&mut **tx)
            .await?;
    let Some(last) = last else { return Ok(0) };
    let cut = Cut { seq: last.try_get("seq")?, hash: last.try_get("hash")? };
    crate::site::set(tx, CUT, &to_json(&cut)?).await?;
    let done = sqlx::query("DELETE FROM audit_log WHERE seq <= $1").bind(cut.seq).execute(&mut **tx).await?;
    Ok(done.rows_affected())
}

/// What a look at the whole chain found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Entries that are there.
    pub entries: i64,
    /// Number of the first one that does not follow from the one before.
    pub broken_at: Option<i64>,
}

/// Goes along the whole chain.
pub async fn check(db: &mut AnyConnection) -> Outcome<Checked> {
    let start = cut(db).await?;
    let (mut seq, mut hash, mut entries) = (start.seq, start.hash, 0);
    loop {
        let some = after(db, seq, BATCH).await?;
        if some.is_empty() {
            return Ok(Checked { entries, broken_at: None });
        }
        for entry in &some {
            seq += 1;
            hash = chained(&hash, seq, entry)?;
            entries += 1;
            if entry.seq != Some(seq) || entry.hash.as_deref() != Some(hash.as_str()) {
                return Ok(Checked { entries, broken_at: entry.seq });
            }
        }
    }
}
