//! Stop rules of an instance that is there already.

use api::instance::{InstanceView, RulesChange};
use clap::{Args, Subcommand, ValueEnum};

use super::Outcome;
use crate::login_file;
use crate::output::{Output, Table};

/// Stop rules of an instance: change, take away, snooze; also while it runs
#[derive(Debug, Subcommand)]
pub enum Rule {
    /// Show the rules of an instance, or change those that are named
    Set(Set),
    /// Switch a rule off
    Rm {
        /// Id, slug or name of the instance
        id: String,
        /// Which one
        rule: Which,
    },
    /// For some time no rule stops it but the budget
    Snooze {
        /// Id, slug or name of the instance
        id: String,
        /// For how long from now on, such as 2h, at most 7d; or off
        time: String,
    },
}

#[derive(Debug, Args)]
pub struct Set {
    /// Id, slug or name of the instance
    id: String,
    /// Stop after so long without activity, such as 30m, or off
    #[arg(long, value_name = "TIME")]
    stop_idle: Option<String>,
    /// Stop so long after it became ready, such as 8h, or off
    #[arg(long, value_name = "TIME")]
    stop_after: Option<String>,
    /// Stop at a time, such as 22:00 in the account's time zone, or off
    #[arg(long, value_name = "TIME")]
    stop_at: Option<String>,
    /// Stop when it has cost so much, or off
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    budget: Option<String>,
}

/// A rule.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Which {
    /// After some time without activity
    Idle,
    /// Some time after it became ready
    After,
    /// At a time
    At,
    /// When it has cost so much
    Budget,
}

impl Rule {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let (id, change) = self.change();
        let view = match change == RulesChange::default() {
            true => client.instance(&id).await?,
            false => client.set_rules(&id, &change).await?,
        };
        out.result(&view, |out| words(&view, out));
        Ok(0)
    }

    fn change(self) -> (String, RulesChange) {
        let off = || Some("off".to_owned());
        let none = RulesChange::default();
        match self {
            Self::Set(set) => {
                let Set { id, stop_idle: idle, stop_after: after, stop_at: at, budget } = set;
                (id, RulesChange { idle, after, at, budget, snooze: None })
            }
            Self::Rm { id, rule } => (
                id,
                match rule {
                    Which::Idle => RulesChange { idle: off(), ..none },
                    Which::After => RulesChange { after: off(), ..none },
                    Which::At => RulesChange { at: off(), ..none },
                    Which::Budget => RulesChange { budget: off(), ..none },
                },
            ),
            Self::Snooze { id, time } => (id, RulesChange { snooze: Some(time), ..none }),
        }
    }
}

fn words(view: &InstanceView, out: &Output) -> String {
    let mut facts = Table::new(&[]);
    facts.fact("instance", format!("{} ({})", view.name, view.id));
    for rule in &view.rules {
        facts.fact("rule", rule.as_str());
    }
    facts.render(out.paint)
}
