//! Quotas of an account and its projects.

use std::collections::BTreeMap;

use api::quota::{Amounts, ProjectView, Quotas, SetQuotas};
use base::{Cause, Error, Money, Result};
use clap::Args;
use domain::catalogue::Catalogue;
use domain::project::Project;

use super::rent::assignment;
use super::{Outcome, whose};
use crate::login_file;
use crate::output::{Output, Table};

/// Show what an account or a project may have at most, or change it
///
/// Without further options it only shows. A quota that is not named stays; `none` is
/// no limit. What runs goes on: only the next rent or start is refused. Those of an
/// account are changed by operators, those of a project by its owners and admins too.
#[derive(Debug, Args)]
pub struct Quota {
    /// Id or name of the account [default: your only one]
    account: Option<String>,
    /// Of this project alone
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Cards of all models together
    #[arg(long, value_name = "N|none", allow_negative_numbers = true)]
    cards: Option<String>,
    /// Cards of one model; may be given many times
    #[arg(long, value_name = "MODEL=N|none", value_parser = assignment)]
    gpu: Vec<(String, String)>,
    /// Instances that are not released
    #[arg(long, value_name = "N|none", allow_negative_numbers = true)]
    instances: Option<String>,
    /// Disk of all instances, GiB
    #[arg(long, value_name = "GIB|none", allow_negative_numbers = true)]
    storage: Option<String>,
    /// Money spent on one day of the account's time zone
    #[arg(long, value_name = "AMOUNT|none", allow_negative_numbers = true)]
    spend_per_day: Option<String>,
}

impl Quota {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let account = whose::account(&client, self.account.clone()).await?;
        // An address cannot have every text as a part, so it is looked at here already.
        let project: Option<Project> = self.project.as_deref().map(str::parse).transpose()?;
        let mut quotas = match &project {
            None => client.quotas(&account).await?,
            Some(project) => client.project_quotas(&account, project.as_str()).await?,
        };
        if self.changes() {
            let has = quotas.quotas.cards.clone();
            let wanted = self.merged(quotas.quotas, |name| known(name, &has))?;
            quotas = match &project {
                None => client.set_quotas(&account, &wanted).await?,
                Some(project) => client.set_project_quotas(&account, project.as_str(), &wanted).await?,
            };
        }
        out.result(&quotas, |out| words(&quotas, out));
        Ok(0)
    }

    fn changes(&self) -> bool {
        let single = [&self.cards, &self.instances, &self.storage, &self.spend_per_day];
        !self.gpu.is_empty() || single.into_iter().any(Option::is_some)
    }

    fn merged(&self, now: Amounts, slug: impl Fn(&str) -> String) -> Result<SetQuotas> {
        let mut cards = now.cards;
        for (model, most) in &self.gpu {
            let model = slug(model);
            match number(most)? {
                Some(most) => cards.insert(model, most),
                None => cards.remove(&model),
            };
        }
        let or = |given: &Option<String>, now: Option<i64>| given.as_deref().map_or(Ok(now), number);
        let spend_per_day = match self.spend_per_day.as_deref() {
            None => now.spend_per_day,
            Some("none") => None,
            Some(amount) => Some(amount.parse::<Money>()?),
        };
        Ok(SetQuotas {
            cards,
            cards_total: or(&self.cards, now.cards_total)?,
            instances: or(&self.instances, now.instances)?,
            storage_gib: or(&self.storage, now.storage_gib)?,
            spend_per_day,
        })
    }
}

/// The model that has a quota already and that a name means, as its slug; any other
/// name is left to the server, which knows the models of the site.
fn known(name: &str, has: &BTreeMap<String, i64>) -> String {
    let found = Catalogue::builtin().resolve_among(name, |m| has.contains_key(&m.slug)).ok();
    found.filter(|m| has.contains_key(&m.slug)).map_or_else(|| name.to_owned(), |m| m.slug.clone())
}

/// A limit as people write it.
fn number(text: &str) -> Result<Option<i64>> {
    if text == "none" {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        Error::new(Cause::InvalidCount, format!("`{}` is no quota", text.escape_debug()))
            .hint("write a number, or `none` for no limit")
    })
}

/// List the projects of an account: what each has now, and may have at most
#[derive(Debug, Args)]
pub struct Projects {
    /// Id or name of the account [default: your only one]
    account: Option<String>,
}

impl Projects {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let account = whose::account(&client, self.account).await?;
        let projects = client.projects(&account).await?;
        out.result(&projects, |out| table(&projects.items, out));
        Ok(0)
    }
}

fn table(projects: &[ProjectView], out: &Output) -> String {
    if projects.is_empty() {
        return "no projects; `suanli rent --project NAME` begins one\n".into();
    }
    let mut table = Table::new(&["PROJECT", ">CARDS", ">INSTANCES", ">STORAGE, GIB", ">MONEY TODAY"]);
    for one in projects {
        let (used, most) = (&one.used, &one.quotas);
        let count = |used: Option<i64>, most: Option<i64>| {
            let most = most.map(|most| format!(" of {most}")).unwrap_or_default();
            format!("{}{most}", used.unwrap_or_default())
        };
        let most_money = most.spend_per_day.map(|most| format!(" of {most}")).unwrap_or_default();
        table.row(vec![
            one.project.as_str().into(),
            count(used.cards_total, most.cards_total).into(),
            count(used.instances, most.instances).into(),
            count(used.storage_gib, most.storage_gib).into(),
            format!("{}{most_money}", used.spend_per_day.unwrap_or_default()).into(),
        ]);
    }
    table.render(out.paint)
}

fn words(q: &Quotas, out: &Output) -> String {
    let mut table = Table::new(&["QUOTA", ">USED", ">AT MOST"]);
    let mut row = |name: String, used: Option<String>, most: Option<String>| {
        table.row(vec![
            name.into(),
            used.unwrap_or_else(|| "0".into()).into(),
            most.unwrap_or_else(|| "no limit".into()).into(),
        ]);
    };
    let text = |n: Option<i64>| n.map(|n| n.to_string());
    let (most, used) = (&q.quotas, &q.used);
    row("cards".into(), text(used.cards_total), text(most.cards_total));
    for model in most.cards.keys().chain(used.cards.keys().filter(|m| !most.cards.contains_key(*m))) {
        let here = |a: &Amounts| a.cards.get(model).map(ToString::to_string);
        row(format!("cards of {model}"), here(used), here(most));
    }
    row("instances".into(), text(used.instances), text(most.instances));
    row("storage, GiB".into(), text(used.storage_gib), text(most.storage_gib));
    let money = |m: Option<Money>| m.map(|m| m.to_string());
    row("money today".into(), money(used.spend_per_day), money(most.spend_per_day));
    table.render(out.paint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_stays_and_none_lifts_a_limit() {
        let now = Amounts {
            cards: [("a".to_owned(), 1), ("b".to_owned(), 2)].into(),
            cards_total: Some(4),
            instances: Some(5),
            storage_gib: None,
            spend_per_day: Some("10".parse().unwrap()),
        };
        let asked = Quota {
            account: None,
            project: None,
            cards: Some("none".into()),
            gpu: vec![("A".into(), "none".into()), ("b".into(), "7".into())],
            instances: None,
            storage: Some("100".into()),
            spend_per_day: Some("2.50".into()),
        };
        let merged = asked.merged(now, str::to_lowercase).unwrap();
        assert_eq!(merged.cards, [("b".to_owned(), 7)].into());
        assert_eq!((merged.cards_total, merged.instances, merged.storage_gib), (None, Some(5), Some(100)));
        assert_eq!(merged.spend_per_day.unwrap().to_string(), "2.50");
        assert!(number("many").is_err());
    }

    #[test]
    fn any_name_of_a_model_means_the_quota_that_it_has() {
        let has = [("t4-16g".to_owned(), 1)].into();
        for name in ["T4", "t4-16g", "Tesla T4"] {
            assert_eq!(known(name, &has), "t4-16g");
        }
        for name in ["A100", "RTX 4090", "nonsense"] {
            assert_eq!(known(name, &has), name);
        }
    }
}
