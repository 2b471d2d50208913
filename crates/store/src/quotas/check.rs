//! Refusing what would exceed a quota.

use base::{AccountId, Cause, Error, InstanceId, Money, Result, Timestamp};
use domain::project::Project;
use sqlx::{AnyConnection, Row};

use super::used::{gib, used};
use super::{Amounts, lock, of};
use crate::{Outcome, Tx};

/// What a rent or a start takes.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Whose.
    pub account: &'a AccountId,
    /// What it is a part of.
    pub project: Option<&'a Project>,
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

/// Refuses what would exceed a quota of the account or of its project. It is called
/// before anything is written, in the same transaction.
///
/// # Errors
/// `quota-exceeded` naming the quota and whose it is, what is used, what was asked for
/// and whom to ask.
pub async fn check(tx: &mut Tx<'_>, asked: &Asked<'_>, now: Timestamp) -> Outcome<()> {
    // The account comes first: a larger quota of the project alone would not help there.
    let mut all = vec![None];
    all.extend(asked.project.map(Some));
    let mut limited = false;
    for project in &all {
        limited |= !of(tx, asked.account, *project).await?.is_empty();
    }
    if !limited {
        return Ok(());
    }
    lock(tx, asked.account).await?;
    // A start that needs no more disk than there was takes nothing new.
    let more_disk = asked.new || asked.disk_mib > disk(tx, asked.instance).await?;
    for project in all {
        let most = of(tx, asked.account, project).await?;
        if most.is_empty() {
            continue;
        }
        let used = used(tx, asked.account, project, Some(asked.instance), now).await?;
        fits(asked, more_disk, project, &most, &used)?;
    }
    Ok(())
}

/// The first quota that would not suffice.
fn fits(asked: &Asked<'_>, more_disk: bool, project: Option<&Project>, most: &Amounts, used: &Amounts) -> Result<()> {
    let guard = |what: &str, most: Option<i64>, used: Option<i64>, more: i64| match (most, used) {
        (Some(most), Some(used)) if used.saturating_add(more) > most => {
            Err(exceeded(project, what, &most.to_string(), &used.to_string(), &more.to_string()))
        }
        _ => Ok(()),
    };
    let of_model = used.cards.get(asked.gpu).copied().or(Some(0));
    guard(&format!("cards of {}", asked.gpu), most.cards.get(asked.gpu).copied(), of_model, asked.count)?;
    guard("cards", most.cards_total, used.cards_total, asked.count)?;
    if asked.new {
        guard("instances", most.instances, used.instances, 1)?;
    }
    if more_disk {
        guard("GiB of storage", most.storage_gib, used.storage_gib, gib(asked.disk_mib))?;
    }
    if let (Some(most), Some(used)) = (most.spend_per_day, used.spend_per_day)
        && used.plus(asked.hold)? > most
    {
        let (most, used, more) = (most.to_string(), used.to_string(), asked.hold.to_string());
        return Err(exceeded(project, "money a day", &most, &used, &more));
    }
    Ok(())
}

fn exceeded(project: Option<&Project>, what: &str, most: &str, used: &str, asked: &str) -> Error {
    let (whose, ask) = match project {
        None => ("this account".to_owned(), "an operator for a larger quota".to_owned()),
        Some(project) => (
            format!("the project `{project}`"),
            format!("an owner or admin of this account for a larger quota of `{project}`"),
        ),
    };
    Error::new(
        Cause::QuotaExceeded,
        format!("the quota of {whose} is {most} {what}: {used} used, {asked} more asked for"),
    )
    .hint(format!("stop or release something, ask for less, or ask {ask}"))
}

async fn disk(db: &mut AnyConnection, instance: &InstanceId) -> Outcome<i64> {
    let row =
        sqlx::query("SELECT disk_mib FROM instances WHERE id = $1").bind(instance.as_str()).fetch_optional(db).await?;
    Ok(row.map(|row| row.try_get("disk_mib")).transpose()?.unwrap_or(0))
}
