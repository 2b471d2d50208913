//! What was used and what is left.

use api::bill::{AccountQuery, BillQuery};
use clap::{Args, ValueEnum};

use super::Outcome;
use crate::login_file;
use crate::output::{Output, Table, money, per_hour};

/// Show the bill of a month
#[derive(Debug, Args)]
pub struct Bill {
    /// The month in the account's time zone [default: the present one]
    #[arg(long, value_name = "YYYY-MM")]
    month: Option<String>,
    /// Show every stretch of time with the proof for it
    #[arg(long)]
    explain: bool,
    /// Show what each of these cost instead
    #[arg(long, value_name = "WHAT", conflicts_with = "explain")]
    by: Option<By>,
    /// Which account [default: your only one]
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
}

/// How a month's cost is divided.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    /// Projects, and what belongs to none
    Project,
}

/// Show how much money an account has and how long it lasts
#[derive(Debug, Args)]
pub struct Balance {
    /// Which account [default: your only one]
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
}

impl Bill {
    pub async fn run(self, out: &Output) -> Outcome {
        let query = BillQuery { account: self.account, month: self.month };
        let bill = login_file::client()?.bill(&query).await?;
        out.result(&bill, |_| {
            let mut text = match self.by {
                Some(By::Project) => billing::bill::render_projects(&bill),
                None => billing::bill::render_text(&bill, self.explain),
            };
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text
        });
        Ok(0)
    }
}

impl Balance {
    pub async fn run(self, out: &Output) -> Outcome {
        let balance = login_file::client()?.balance(&AccountQuery { account: self.account }).await?;
        out.result(&balance, |out| words(&balance, out));
        Ok(0)
    }
}

fn words(balance: &api::account::Balance, out: &Output) -> String {
    let currency = balance.currency.as_str();
    let mut facts = Table::new(&[]);
    facts.fact("account", format!("{} ({})", balance.name, balance.account));
    facts.fact("available", money(balance.available, currency));
    facts.fact("posted", money(balance.posted, currency));
    facts.fact("used, not posted", money(balance.unposted, currency));
    facts.fact("set aside", money(balance.held, currency));
    facts.fact("running cost", per_hour(balance.burn, currency));
    let end = balance.money_ends_at.map_or_else(|| "nothing runs".to_owned(), |at| out.zone.show(at));
    facts.fact("money ends", end);
    facts.render(out.paint)
}
