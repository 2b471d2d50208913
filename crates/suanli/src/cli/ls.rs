//! The list of instances.

use std::collections::BTreeMap;

use api::Page;
use api::instance::{InstanceQuery, InstanceView};
use clap::Args;
use domain::instance::State;
use domain::project::Project;

use super::Outcome;
use super::show::{currency_of, gpu_words};
use crate::login_file;
use crate::output::{Cell, Output, Style, Table, json, money, print};

/// List your instances, newest first
#[derive(Debug, Args)]
pub struct Ls {
    /// Released ones too
    #[arg(long)]
    all: bool,
    /// Only those of this account
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Only what is a part of this project
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
}

impl Ls {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let query = InstanceQuery {
            account: self.account,
            project: self.project,
            all: self.all.then_some(true),
            ..InstanceQuery::default()
        };
        let items = client.all_instances(&query).await?;
        if out.json {
            json(&Page { items, next_cursor: None });
            return Ok(0);
        }
        let mut currencies = BTreeMap::new();
        for view in &items {
            if !currencies.contains_key(&view.account) {
                currencies.insert(view.account.clone(), currency_of(&client, view).await);
            }
        }
        print(&words(&items, |view| currencies.get(&view.account).map_or("", String::as_str), out));
        Ok(0)
    }
}

fn words<'a>(items: &'a [InstanceView], currency: impl Fn(&'a InstanceView) -> &'a str, out: &Output) -> String {
    if items.is_empty() {
        return "no instances; `suanli offers` shows what can be rented, `suanli ls --all` released ones too\n".into();
    }
    let projects = items.iter().any(|view| view.project.is_some());
    let mut columns = vec!["ID", "NAME", "STATE", "GPU", ">PRICE AN HOUR", ">COST SO FAR", "IN THIS STATE SINCE"];
    if projects {
        columns.insert(2, "PROJECT");
    }
    let mut table = Table::new(&columns);
    for view in items {
        let rate = base::Money::from_micros(view.rate.micros_per_hour());
        let mut row = vec![
            view.id.as_str().into(),
            view.name.as_str().into(),
            state_cell(view.state),
            gpu_words(view).into(),
            money(rate, currency(view)).into(),
            money(view.cost_so_far, currency(view)).into(),
            out.zone.show(view.state_since).into(),
        ];
        if projects {
            row.insert(2, view.project.as_ref().map_or("", Project::as_str).into());
        }
        table.row(row);
    }
    table.render(out.paint)
}

/// A state in its colour.
pub fn state_cell(state: State) -> Cell {
    let style = match state {
        State::Running => Style::Green,
        State::Lost | State::Failed => Style::Red,
        State::Stopped | State::Released => Style::Dim,
        State::Requested | State::Creating | State::Starting | State::Stopping | State::Releasing => Style::Yellow,
    };
    Cell::styled(state.as_str(), style)
}
