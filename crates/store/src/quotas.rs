//! What an account may have at most.
//!
//! Every check is a part of the transaction that takes what is checked, after the
//! account's row was locked: two wishes of one moment are judged one after the
//! other, on both databases.

use std::collections::BTreeMap;

use base::{AccountId, Cause, Error, InstanceId, Money, Timestamp};
use sqlx::{AnyConnection, Row};

use crate::{Outcome, Tx, accounts, segments};

/// Amounts of what quotas limit. As a quota, `None` and a model that is absent are
/// not limited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Cards by the slug of their model.
    pub cards: BTreeMap<String, i64>,
    /// Cards of all models together.
    pub cards_total: Option<i64>,
    /// Instances that are not released.
    pub instances: Option<i64>,
    /// Disk of all instances that are not released, GiB.
    pub storage_gib: Option<i64>,
    /// Spent on one day of the account's time zone.
    pub spend_per_day: Option<Money>,
}

const CARDS: &str = "cards";
const CARDS_OF: &str = "cards:";
const INSTANCES: &str = "instances";
const STORAGE: &str = "storage-gib";
const SPEND: &str = "spend-per-day";

impl Amounts {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn rows(&self) -> Vec<(String, i64)> {
        let whole = [(CARDS, self.cards_total), (INSTANCES, self.instances), (STORAGE, self.storage_gib)];
        let whole = whole.into_iter().chain([(SPEND, self.spend_per_day.map(Money::micros))]);
        let whole = whole.filter_map(|(kind, most)| Some((kind.to_owned(), most?)));
        whole.chain(self.cards.iter().map(|(gpu, most)| (format!("{CARDS_OF}{gpu}"), *most))).collect()
    }
}

/// Quotas of an account.
pub async fn of(db: &mut AnyConnection, account: &AccountId) -> Outcome<Amounts> {
    let rows =
        sqlx::query("SELECT kind, most FROM quotas WHERE account_id = $1").bind(account.as_str()).fetch_all(db).await?;
    let mut all = Amounts::default();
    for row in &rows {
        let (kind, most): (String, i64) = (row.try_get("kind")?, row.try_get("most")?);
        match kind.as_str() {
            CARDS => all.cards_total = Some(most),
            INSTANCES => all.instances = Some(most),
            STORAGE => all.storage_gib = Some(most),
            SPEND => all.spend_per_day = Some(Money::from_micros(most)),
            // What a newer server limits, this one cannot.
            other => {
                if let Some(gpu) = other.strip_prefix(CARDS_OF) {
                    all.cards.insert(gpu.to_owned(), most);
                }
            }
        }
    }
    Ok(all)
}

/// Replaces every quota of an account.
pub async fn set(tx: &mut Tx<'_>, account: &AccountId, quotas: &Amounts) -> Outcome<()> {
    lock(tx, account).await?;
    sqlx::query("DELETE FROM quotas WHERE account_id = $1").bind(account.as_str()).execute(&mut **tx).await?;
    for (kind, most) in quotas.rows() {
        sqlx::query("INSERT INTO quotas (account_id, kind, most) VALUES ($1, $2, $3)")
            .bind(account.as_str())
            .bind(kind)
            .bind(most)
            .execute(&mut **tx)
            .await?;
    }
    Ok(())
}

async fn lock(tx: &mut Tx<'_>, account: &AccountId) -> Outcome<()> {
    sqlx::query("UPDATE accounts SET held = held WHERE id = $1").bind(account.as_str()).execute(&mut **tx).await?;
    Ok(())
}

/// What an account has now. `but`: an instance that is not counted.
///
/// Cards count from the wish for them until a stop or the end; disk and the instance
/// itself until the release. Spent is what ran today, in the account's time zone,
/// proven or not, and the hour that every start has set aside.
pub async fn used(
    db: &mut AnyConnection,
    account: &AccountId,
    but: Option<&InstanceId>,
    now: Timestamp,
) -> Outcome<Amounts> {
    let rows = sqlx::query(
        "SELECT gpu, COUNT(*) AS n, CAST(SUM(disk_mib) AS BIGINT) AS disk,
            CAST(SUM(CASE WHEN desired = 'running' AND state IN ('requested', 'creating', 'starting', 'running')
                THEN count ELSE 0 END) AS BIGINT) AS cards
         FROM instances WHERE account_id = $1 AND state <> 'released' AND id <> $2 GROUP BY gpu",
    )
    .bind(account.as_str())
    .bind(but.map_or("", InstanceId::as_str))
    .fetch_all(&mut *db)
    .await?;
    let (mut cards, mut total, mut instances, mut disk) = (BTreeMap::new(), 0i64, 0i64, 0i64);
    for row in &rows {
        let here: i64 = row.try_get("cards")?;
        if here > 0 {
            cards.insert(row.try_get("gpu")?, here);
        }
        total = total.saturating_add(here);
        instances = instances.saturating_add(row.try_get("n")?);
        disk = disk.saturating_add(row.try_get("disk")?);
    }
    Ok(Amounts {
        cards,
        cards_total: Some(total),
        instances: Some(instances),
        storage_gib: Some(gib(disk)),
        spend_per_day: Some(spent(db, account, now).await?),
    })
}

fn gib(mib: i64) -> i64 {
    mib.saturating_add(1023) / 1024
}

async fn spent(db: &mut AnyConnection, id: &AccountId, now: Timestamp) -> Outcome<Money> {
    let Some(account) = accounts::get(db, id).await? else {
        return Err(Error::not_found("the account").into());
    };
    let day = base::time::day_start(now, &account.time_zone)?;
    let mut spent = account.held;
    for s in segments::of_account(db, id, day, now).await? {
        let until = s.to.map_or(now, |to| to.min(now));
        let before = billing::segment::charge_until(s.from, s.rate, day)?;
        spent = spent.plus(billing::segment::due(s.from, s.rate, until, before)?)?;
    }
    Ok(spent)
}

/// What a rent or a start takes.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Whose.
    pub account: &'a AccountId,
    /// Which instance.
    pub instance: &'a InstanceId,
    /// Whether it is a new one.
    pub new: bool,
    /// Slug of the GPU model.
    pub gpu: &'a str,
    /// Number of cards.
    pub count: i64,
    /// Disk, MiB.
    pub disk_mib: i64,
    /// What is set aside for it.
    pub hold: Money,
}

/// Refuses what would exceed a quota. It is called before anything is written, in
/// the same transaction.
///
/// # Errors
/// `quota-exceeded` naming the quota, what is used and what was asked for.
pub async fn check(tx: &mut Tx<'_>, asked: &Asked<'_>, now: Timestamp) -> Outcome<()> {
    if of(tx, asked.account).await?.is_empty() {
        return Ok(());
    }
    lock(tx, asked.account).await?;
    let most = of(tx, asked.account).await?;
    let used = used(tx, asked.account, Some(asked.instance), now).await?;
    let guard = |what: &str, most: Option<i64>, used: Option<i64>, more: i64| match (most, used) {
        (Some(most), Some(used)) if used.saturating_add(more) > most => {
            Err(exceeded(what, &most.to_string(), &used.to_string(), &more.to_string()))
        }
        _ => Ok(()),
    };
    let of_model = used.cards.get(asked.gpu).copied().or(Some(0));
    guard(&format!("cards of {}", asked.gpu), most.cards.get(asked.gpu).copied(), of_model, asked.count)?;
    guard("cards", most.cards_total, used.cards_total, asked.count)?;
    if asked.new {
        guard("instances", most.instances, used.instances, 1)?;
    }
    // A start that needs no more disk than there was takes nothing new.
    if asked.new || asked.disk_mib > disk(tx, asked.instance).await? {
        guard("GiB of storage", most.storage_gib, used.storage_gib, gib(asked.disk_mib))?;
    }
    if let (Some(most), Some(used)) = (most.spend_per_day, used.spend_per_day)
        && used.plus(asked.hold)? > most
    {
        let (most, used, more) = (most.to_string(), used.to_string(), asked.hold.to_string());
        return Err(exceeded("money a day", &most, &used, &more).into());
    }
    Ok(())
}

async fn disk(db: &mut AnyConnection, instance: &InstanceId) -> Outcome<i64> {
    let row =
        sqlx::query("SELECT disk_mib FROM instances WHERE id = $1").bind(instance.as_str()).fetch_optional(db).await?;
    Ok(row.map(|row| row.try_get("disk_mib")).transpose()?.unwrap_or(0))
}

fn exceeded(what: &str, most: &str, used: &str, asked: &str) -> Error {
    Error::new(
        Cause::QuotaExceeded,
        format!("the quota of this account is {most} {what}: {used} used, {asked} more asked for"),
    )
    .hint("stop or release something, ask for less, or ask an operator for a larger quota")
}
