//! Renting an instance.

use std::collections::BTreeMap;

use api::instance::{InstanceView, RentRequest, RulesRequest};
use clap::Args;
use client::Key;

use super::watch::{Goal, Watch};
use super::{Failure, Outcome};
use crate::login_file;
use crate::output::{Output, json, note, print};

/// What somebody wants to rent.
#[derive(Debug, Args)]
pub struct Wish {
    /// GPU model, by any of its names
    #[arg(long, value_name = "MODEL")]
    gpu: String,
    /// Cards on one machine [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    count: Option<i64>,
    /// How it is paid: on-demand, spot, month or year [default: on-demand]
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// How it is kept apart from others: container, vm or node [default: what the site has]
    #[arg(long, value_name = "KIND")]
    isolation: Option<String>,
    /// Memory in GiB [default: what the price includes]
    #[arg(long, value_name = "GIB", allow_negative_numbers = true)]
    memory: Option<i64>,
    /// CPU cores [default: what the price includes]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    cpus: Option<i64>,
    /// Disk in GiB [default: what the price includes]
    #[arg(long, value_name = "GIB", allow_negative_numbers = true)]
    disk: Option<i64>,
    /// Shell command that is started once the instance is ready
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    on_start: Option<String>,
    /// Environment of everything started inside; may be given many times
    #[arg(long, value_name = "K=V", value_parser = assignment)]
    env: Vec<(String, String)>,
    /// Stop after so long without activity, such as 30m, or off [default: 2h]
    #[arg(long, value_name = "TIME")]
    stop_idle: Option<String>,
    /// Stop so long after it became ready, such as 8h
    #[arg(long, value_name = "TIME")]
    stop_after: Option<String>,
    /// Stop at a time, such as 22:00 in the account's time zone
    #[arg(long, value_name = "TIME")]
    stop_at: Option<String>,
    /// Stop when it has cost so much
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    budget: Option<String>,
    /// A name of your own for it
    #[arg(long)]
    name: Option<String>,
    /// What it is a part of, for quotas and the bill
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Account that pays [default: your only one]
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
}

impl Wish {
    /// As the server takes it.
    pub fn request(&self) -> RentRequest {
        RentRequest {
            gpu: self.gpu.clone(),
            count: self.count,
            plan: self.plan.clone(),
            isolation: self.isolation.clone(),
            cpus: self.cpus,
            memory_gib: self.memory,
            disk_gib: self.disk,
            name: self.name.clone(),
            project: self.project.clone(),
            account: self.account.clone(),
            env: self.env.iter().cloned().collect::<BTreeMap<_, _>>(),
            on_start: self.on_start.clone(),
            rules: RulesRequest {
                idle: self.stop_idle.clone(),
                after: self.stop_after.clone(),
                at: self.stop_at.clone(),
                budget: self.budget.clone(),
            },
        }
    }
}

/// Splits `K=V`.
pub fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

/// Rent an instance and print its id
///
/// Waits until cards are allocated, or with --wait until it can be used.
#[derive(Debug, Args)]
pub struct Rent {
    #[command(flatten)]
    wish: Wish,
    /// Wait until the instance can be used
    #[arg(long)]
    wait: bool,
}

impl Rent {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let asked = client.rent(&self.wish.request(), &Key::fresh()).await?;
        let goal = if self.wait { Goal::Running } else { Goal::Allocated };
        let view = Watch::new(&client, &asked).until(goal).await?;
        finish(&view, out)
    }
}

/// Prints an instance that was asked for: its id alone, for scripts.
pub fn finish(view: &InstanceView, out: &Output) -> Result<u8, Failure> {
    if out.json {
        json(view);
        return Ok(0);
    }
    print(&format!("{}\n", view.id));
    for notice in &view.notices {
        note(&format!("notice: {}", crate::output::clean(notice)));
    }
    if view.devices.iter().any(|device| device.fake) {
        note("its cards are fake");
    }
    match view.state {
        domain::instance::State::Running => note(&format!("it runs: connect with `suanli ssh {}`", view.slug)),
        state => note(&format!("it is {state}: `suanli show {}` tells more", view.slug)),
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_keep_everything_after_the_first_sign() {
        assert_eq!(assignment("A=b=c").unwrap(), ("A".into(), "b=c".into()));
        assert_eq!(assignment("A=").unwrap(), ("A".into(), String::new()));
        assert!(assignment("A").is_err());
        assert!(assignment("=b").is_err());
    }
}
