//! One instance.

use api::bill::AccountQuery;
use api::instance::{DeviceView, InstanceView, Reason};
use clap::Args;
use client::Client;

use super::Outcome;
use super::ls::state_cell;
use super::offers::isolation;
use crate::output::{Cell, Output, Style, Table, json, money, per_hour, print};
use crate::{inside, login_file};

/// Show one instance
#[derive(Debug, Args)]
pub struct Show {
    /// Id, slug or name of the instance; inside of one it may be left out
    #[arg(required = inside::must_name())]
    id: Option<String>,
}

impl Show {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let view = client.instance(&inside::named_or_own(self.id)?).await?;
        if out.json {
            json(&view);
        } else {
            print(&words(&view, &currency_of(&client, &view).await, out));
        }
        Ok(0)
    }
}

/// Currency of an instance's amounts; empty where it cannot be learnt, so that
/// an amount is never shown in a wrong one.
pub async fn currency_of(client: &Client, view: &InstanceView) -> String {
    let query = AccountQuery { account: Some(view.account.to_string()) };
    client.balance(&query).await.map(|balance| balance.currency).unwrap_or_default()
}

/// `2 × RTX 4090 24G (fake)`.
pub fn gpu_words(view: &InstanceView) -> String {
    let fake = if view.devices.iter().any(|device| device.fake) { " (fake)" } else { "" };
    format!("{} × {}{fake}", view.count, view.gpu_name)
}

fn words(view: &InstanceView, currency: &str, out: &Output) -> String {
    let mut facts = Table::new(&[]);
    facts.fact("name", Cell::styled(view.name.as_str(), Style::Bold));
    facts.fact("id", view.id.as_str());
    facts.fact("slug", view.slug.as_str());
    if let Some(project) = &view.project {
        facts.fact("project", project.as_str());
    }
    facts.fact("state", state_cell(view.state));
    facts.fact("since", out.zone.show(view.state_since));
    if view.desired.as_str() != view.state.as_str() {
        facts.fact("wanted", view.desired.as_str());
    }
    if let Some(at) = view.deadline_at {
        facts.fact("leaves this state by", out.zone.show(at));
    }
    if let Some(reason) = &view.reason {
        reason_facts(&mut facts, reason);
    }
    facts.fact("GPU", gpu_words(view));
    for device in &view.devices {
        facts.fact("card", device_words(device));
    }
    if let Some(node) = &view.node {
        facts.fact("machine", node.as_str());
    }
    if let Some(kind) = &view.isolation {
        facts.fact("isolation", isolation(kind));
    }
    facts.fact("with", format!("{} CPU cores, {} GiB memory, {} GiB disk", view.cpus, view.memory_gib, view.disk_gib));
    facts.fact("price", format!("{}, {}", per_hour(view.rate, currency), view.plan));
    facts.fact("price book", view.price_version.as_str());
    facts.fact("cost so far", format!("{}, for proven time only", money(view.cost_so_far, currency)));
    for rule in &view.rules {
        facts.fact("rule", rule.as_str());
    }
    if let Some(command) = &view.on_start {
        let end =
            view.on_start_exit.map_or_else(|| "not ended yet".to_owned(), |code| format!("ended with status {code}"));
        facts.fact("on start", format!("{command} ({end})"));
    }
    facts.fact("asked for", out.zone.show(view.created_at));
    if let Some(at) = view.ready_at {
        facts.fact("ready", out.zone.show(at));
    }
    for notice in &view.notices {
        facts.fact("notice", Cell::styled(notice.as_str(), Style::Yellow));
    }
    facts.render(out.paint)
}

/// Adds why something stopped or waits, and what would help.
pub fn reason_facts(facts: &mut Table, reason: &Reason) {
    facts.fact("reason", format!("{} ({})", reason.message, reason.code));
    if let Some(hint) = &reason.hint {
        facts.fact("hint", hint.as_str());
    }
}

/// `0: NVIDIA GeForce RTX 4090, GPU-…, serial … (fake)`.
pub fn device_words(device: &DeviceView) -> String {
    let serial = device.serial.as_ref().map(|serial| format!(", serial {serial}")).unwrap_or_default();
    let fake = if device.fake { " (fake)" } else { "" };
    format!("{}: {}, {}{serial}{fake}", device.index, device.name, device.uuid)
}
