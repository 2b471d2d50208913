//! Accounts (operator).

use api::account::{AccountView, CreateAccount, TopUp};
use clap::{Args, Subcommand};
use client::Key;

use super::Outcome;
use crate::login_file;
use crate::output::{Output, Table, money};

/// Accounts: list, create, add money (operator); quotas, projects
#[derive(Debug, Subcommand)]
pub enum Account {
    /// List accounts
    Ls,
    /// Make an account with its first user
    Create(Create),
    /// Add money to an account
    Topup(Topup),
    Quota(super::quota::Quota),
    Projects(super::quota::Projects),
}

#[derive(Debug, Args)]
pub struct Create {
    /// Name of the account
    name: String,
    /// Name of its first user [default: the account's name]
    #[arg(long)]
    user: Option<String>,
    /// IANA time zone of its months, such as Asia/Shanghai [default: UTC]
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
}

#[derive(Debug, Args)]
pub struct Topup {
    /// Id or name of the account
    name: String,
    /// How much, in the account's currency
    #[arg(allow_negative_numbers = true)]
    amount: String,
    /// What to remember about it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

impl Account {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        match self {
            Self::Quota(quota) => return quota.run(out).await,
            Self::Projects(projects) => return projects.run(out).await,
            Self::Ls => {
                let accounts = client.accounts().await?;
                out.result(&accounts, |out| words(&accounts, out));
            }
            Self::Create(create) => {
                let request = CreateAccount { name: create.name, user: create.user, time_zone: create.time_zone };
                let made = client.create_account(&request, &Key::fresh()).await?;
                out.result(&made, |out| {
                    let mut facts = Table::new(&[]);
                    facts.fact("account", format!("{} ({})", made.account.name, made.account.id));
                    facts.fact("currency", made.account.currency.as_str());
                    facts.fact("time zone", made.account.time_zone.as_str());
                    facts.fact("user", made.user.as_str());
                    match &made.password {
                        Some(password) => facts.fact("password", format!("{password} (shown only this once)")),
                        None => facts.fact("password", "unchanged: the user existed already"),
                    };
                    facts.render(out.paint)
                });
            }
            Self::Topup(topup) => {
                let request = TopUp { amount: topup.amount, note: topup.note };
                let posted = client.top_up(&topup.name, &request, &Key::fresh()).await?;
                out.result(&posted, |_| {
                    format!("added {}; the balance is {} ({})\n", posted.amount, posted.balance, posted.posting)
                });
            }
        }
        Ok(0)
    }
}

fn words(accounts: &[AccountView], out: &Output) -> String {
    if accounts.is_empty() {
        return "no accounts; `suanli account create NAME` makes one\n".into();
    }
    let mut table = Table::new(&["ID", "NAME", ">BALANCE", "TIME ZONE", "MADE"]);
    for account in accounts {
        table.row(vec![
            account.id.as_str().into(),
            account.name.as_str().into(),
            money(account.balance, &account.currency).into(),
            account.time_zone.as_str().into(),
            out.zone.show(account.created_at).into(),
        ]);
    }
    table.render(out.paint)
}
