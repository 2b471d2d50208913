//! What an account and its projects have now.
//!
//! Cards count from the wish for them until a stop or the end; disk and the instance
//! itself until the release. Spent is what ran today, in the account's time zone,
//! proven or not, and the hour that every start has set aside.

use std::collections::BTreeMap;

use base::{AccountId, Error, InstanceId, Money, Timestamp};
use domain::project::Project;
use sqlx::{AnyConnection, Row};

use super::Amounts;
use crate::row::{money, parsed_opt, rate, time, time_opt};
use crate::{Outcome, accounts};

/// Sums before disk is rounded to whole GiB.
#[derive(Default)]
struct Tally {
    cards: BTreeMap<String, i64>,
    instances: i64,
    disk_mib: i64,
    spent: Money,
}

impl Tally {
    fn amounts(self) -> Amounts {
        Amounts {
            cards_total: Some(self.cards.values().fold(0, |sum: i64, here| sum.saturating_add(*here))),
            cards: self.cards,
            instances: Some(self.instances),
            storage_gib: Some(gib(self.disk_mib)),
            spend_per_day: Some(self.spent),
        }
    }
}

pub(super) fn gib(mib: i64) -> i64 {
    mib.saturating_add(1023) / 1024
}

/// What somebody has who has nothing.
pub fn nothing() -> Amounts {
    Tally::default().amounts()
}

/// Which sums are made.
#[derive(Clone, Copy)]
enum Sums<'a> {
    /// One over everything.
    Whole,
    /// One over this project.
    Of(&'a Project),
    /// One for each project.
    Apart,
}

impl Sums<'_> {
    /// The only project that counts, as statements take it.
    fn only(&self) -> &str {
        match self {
            Self::Of(project) => project.as_str(),
            Self::Whole | Self::Apart => "",
        }
    }

    /// Which sum what belongs to this project is a part of.
    fn of(self, project: Option<Project>) -> Option<Project> {
        project.filter(|_| matches!(self, Self::Apart))
    }
}

/// Under `None` what belongs to no project, or everything where projects are not told apart.
type Tallies = BTreeMap<Option<Project>, Tally>;

/// What an account has now, or one of its projects. `but`: an instance of which cards,
/// disk and itself are not counted.
///
/// # Errors
/// `not-found` where there is no such account, or the database's.
pub async fn used(
    db: &mut AnyConnection,
    account: &AccountId,
    project: Option<&Project>,
    but: Option<&InstanceId>,
    now: Timestamp,
) -> Outcome<Amounts> {
    let mut tallies = Tallies::new();
    count(db, account, project.map_or(Sums::Whole, Sums::Of), but, now, &mut tallies).await?;
    Ok(tallies.remove(&None).unwrap_or_default().amounts())
}

/// What each project of an account has now: those that something unreleased belongs
/// to, or that have spent something today.
///
/// # Errors
/// `not-found` where there is no such account, or the database's.
pub async fn by_project(
    db: &mut AnyConnection,
    account: &AccountId,
    now: Timestamp,
) -> Outcome<BTreeMap<Project, Amounts>> {
    let mut tallies = Tallies::new();
    count(db, account, Sums::Apart, None, now, &mut tallies).await?;
    Ok(tallies.into_iter().filter_map(|(project, tally)| Some((project?, tally.amounts()))).collect())
}

async fn count(
    db: &mut AnyConnection,
    account: &AccountId,
    sums: Sums<'_>,
    but: Option<&InstanceId>,
    now: Timestamp,
    into: &mut Tallies,
) -> Outcome<()> {
    let rows = sqlx::query(
        "SELECT project, gpu, COUNT(*) AS n, CAST(SUM(disk_mib) AS BIGINT) AS disk,
            CAST(SUM(CASE WHEN desired = 'running' AND state IN ('requested', 'creating', 'starting', 'running')
                THEN count ELSE 0 END) AS BIGINT) AS cards
         FROM instances WHERE account_id = $1 AND state <> 'released' AND id <> $2 AND ($3 = '' OR project = $3)
         GROUP BY project, gpu",
    )
    .bind(account.as_str())
    .bind(but.map_or("", InstanceId::as_str))
    .bind(sums.only())
    .fetch_all(&mut *db)
    .await?;
    for row in &rows {
        let tally = into.entry(sums.of(parsed_opt(row, "project")?)).or_default();
        let here: i64 = row.try_get("cards")?;
        if here > 0 {
            let cards = tally.cards.entry(row.try_get("gpu")?).or_default();
            *cards = cards.saturating_add(here);
        }
        tally.instances = tally.instances.saturating_add(row.try_get("n")?);
        tally.disk_mib = tally.disk_mib.saturating_add(row.try_get("disk")?);
    }
    set_aside(db, account, sums, into).await?;
    ran_today(db, account, sums, now, into).await
}

async fn set_aside(db: &mut AnyConnection, account: &AccountId, sums: Sums<'_>, into: &mut Tallies) -> Outcome<()> {
    let rows = sqlx::query(
        "SELECT i.project, CAST(SUM(h.amount) AS BIGINT) AS amount
         FROM holds h JOIN instances i ON i.id = h.instance_id
         WHERE h.account_id = $1 AND ($2 = '' OR i.project = $2) GROUP BY i.project",
    )
    .bind(account.as_str())
    .bind(sums.only())
    .fetch_all(&mut *db)
    .await?;
    for row in &rows {
        let tally = into.entry(sums.of(parsed_opt(row, "project")?)).or_default();
        tally.spent = tally.spent.plus(money(row, "amount")?)?;
    }
    Ok(())
}

async fn ran_today(
    db: &mut AnyConnection,
    id: &AccountId,
    sums: Sums<'_>,
    now: Timestamp,
    into: &mut Tallies,
) -> Outcome<()> {
    let Some(account) = accounts::get(db, id).await? else {
        return Err(Error::not_found("the account").into());
    };
    let day = base::time::day_start(now, &account.time_zone)?;
    let rows = sqlx::query(
        "SELECT i.project, s.from_at, s.to_at, s.rate FROM segments s JOIN instances i ON i.id = s.instance_id
         WHERE s.account_id = $1 AND s.from_at < $3 AND (s.to_at IS NULL OR s.to_at > $2)
            AND ($4 = '' OR i.project = $4)",
    )
    .bind(id.as_str())
    .bind(day.micros())
    .bind(now.micros())
    .bind(sums.only())
    .fetch_all(&mut *db)
    .await?;
    for row in &rows {
        let (from, rate) = (time(row, "from_at")?, rate(row, "rate")?);
        let until = time_opt(row, "to_at")?.map_or(now, |to| to.min(now));
        let before = billing::segment::charge_until(from, rate, day)?;
        let tally = into.entry(sums.of(parsed_opt(row, "project")?)).or_default();
        tally.spent = tally.spent.plus(billing::segment::due(from, rate, until, before)?)?;
    }
    Ok(())
}
