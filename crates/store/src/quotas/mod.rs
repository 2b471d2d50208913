//! What an account, and each of its projects, may have at most.
//!
//! Every check is a part of the transaction that takes what is checked, after the
//! account's row was locked: two wishes of one moment are judged one after the
//! other, on both databases.

mod check;
mod used;

use std::collections::BTreeMap;

use base::{AccountId, Cause, Error, Money};
use domain::project::Project;
use sqlx::{AnyConnection, Row};

use crate::{Outcome, Tx};

pub use check::{Asked, check};
pub use used::{by_project, nothing, used};

/// Most projects of an account that have quotas.
pub const MOST_PROJECTS: usize = 1_000;

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

    fn limit(&mut self, kind: &str, most: i64) {
        match kind {
            CARDS => self.cards_total = Some(most),
            INSTANCES => self.instances = Some(most),
            STORAGE => self.storage_gib = Some(most),
            SPEND => self.spend_per_day = Some(Money::from_micros(most)),
            // What a newer server limits, this one cannot.
            other => {
                if let Some(gpu) = other.strip_prefix(CARDS_OF) {
                    self.cards.insert(gpu.to_owned(), most);
                }
            }
        }
    }
}

/// How the table names a project, or the account as a whole.
fn column(project: Option<&Project>) -> &str {
    project.map_or("", Project::as_str)
}

/// Quotas of an account as a whole, or of one of its projects.
pub async fn of(db: &mut AnyConnection, account: &AccountId, project: Option<&Project>) -> Outcome<Amounts> {
    let rows = sqlx::query("SELECT kind, most FROM quotas WHERE account_id = $1 AND project = $2")
        .bind(account.as_str())
        .bind(column(project))
        .fetch_all(db)
        .await?;
    let mut all = Amounts::default();
    for row in &rows {
        all.limit(row.try_get("kind")?, row.try_get("most")?);
    }
    Ok(all)
}

/// Quotas of every project of an account that has some.
pub async fn of_projects(db: &mut AnyConnection, account: &AccountId) -> Outcome<BTreeMap<Project, Amounts>> {
    let rows = sqlx::query("SELECT project, kind, most FROM quotas WHERE account_id = $1 AND project <> ''")
        .bind(account.as_str())
        .fetch_all(db)
        .await?;
    let mut all: BTreeMap<Project, Amounts> = BTreeMap::new();
    for row in &rows {
        let project = crate::row::parsed(row, "project")?;
        all.entry(project).or_default().limit(row.try_get("kind")?, row.try_get("most")?);
    }
    Ok(all)
}

/// Replaces every quota of an account as a whole, or of one of its projects.
///
/// # Errors
/// `quota-exceeded` when too many projects would have quotas.
pub async fn set(tx: &mut Tx<'_>, account: &AccountId, project: Option<&Project>, quotas: &Amounts) -> Outcome<()> {
    lock(tx, account).await?;
    sqlx::query("DELETE FROM quotas WHERE account_id = $1 AND project = $2")
        .bind(account.as_str())
        .bind(column(project))
        .execute(&mut **tx)
        .await?;
    if project.is_some() && !quotas.is_empty() && of_projects(tx, account).await?.len() >= MOST_PROJECTS {
        let what = format!("{MOST_PROJECTS} projects of this account have quotas already");
        return Err(Error::new(Cause::QuotaExceeded, what).hint("lift the quotas of one that is over").into());
    }
    for (kind, most) in quotas.rows() {
        sqlx::query("INSERT INTO quotas (account_id, project, kind, most) VALUES ($1, $2, $3, $4)")
            .bind(account.as_str())
            .bind(column(project))
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
