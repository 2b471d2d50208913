//! Machines (operator).

use api::operator::{NodeDevice, NodeView};
use clap::Subcommand;

use super::Outcome;
use super::offers::isolation;
use crate::login_file;
use crate::output::{Cell, Output, Style, Table};

/// Machines and their cards (operator)
#[derive(Debug, Subcommand)]
pub enum Node {
    /// List machines and their cards
    Ls,
}

impl Node {
    pub async fn run(self, out: &Output) -> Outcome {
        let Self::Ls = self;
        let nodes = login_file::client()?.nodes().await?;
        out.result(&nodes, |out| nodes_words(&nodes.nodes, out));
        Ok(0)
    }
}

fn nodes_words(nodes: &[NodeView], out: &Output) -> String {
    if nodes.is_empty() {
        return "no machines; `suanli agent` on a machine connects it\n".into();
    }
    let mut text = String::new();
    for node in nodes {
        let mut facts = Table::new(&[]);
        let fake = if node.fake { " (fake cards)" } else { "" };
        facts.fact("machine", Cell::styled(format!("{}{fake}", node.name), Style::Bold));
        facts.fact("id", node.id.as_str());
        let style = if node.state == "ready" { Style::Green } else { Style::Red };
        facts.fact("state", Cell::styled(node.state.as_str(), style));
        facts.fact("isolation", isolation(&node.isolation));
        facts.fact("with", format!("{} CPU cores, {} GiB memory", node.cpus, node.memory_mib / 1024));
        facts.fact("proven until", out.zone.show(node.proven_until));
        facts.fact("last heard", out.zone.show(node.seen_at));
        for notice in &node.notices {
            facts.fact("notice", Cell::styled(notice.as_str(), Style::Yellow));
        }
        text.push_str(&facts.render(out.paint));
        let mut cards = Table::new(&[
            ">CARD",
            "NAME",
            "GPU",
            "STATE",
            "HELD BY",
            ">USE",
            ">MEMORY",
            ">POWER",
            ">TEMPERATURE",
            "ID",
        ]);
        for device in &node.devices {
            cards.row(card_row(device));
        }
        text.push_str(&cards.render(out.paint));
        text.push('\n');
    }
    text
}

fn card_row(device: &NodeDevice) -> Vec<Cell> {
    let sample = device.sample.as_ref();
    let told = |value: Option<i64>, unit: &str| value.map_or_else(|| "–".to_owned(), |v| format!("{v} {unit}"));
    let fake = if device.fake { " (fake)" } else { "" };
    let style = if device.state == "ok" { Style::Green } else { Style::Red };
    vec![
        device.index.to_string().into(),
        format!("{}{fake}", device.name).into(),
        device.gpu.clone().unwrap_or_else(|| "not in the catalogue".into()).into(),
        Cell::styled(device.state.as_str(), style),
        device.held_by.clone().unwrap_or_else(|| "–".into()).into(),
        told(sample.and_then(|s| s.gpu_util_pct), "%").into(),
        told(sample.and_then(|s| s.memory_used_mib), "MiB").into(),
        told(sample.and_then(|s| s.power_mw).map(|mw| mw / 1000), "W").into(),
        told(sample.and_then(|s| s.temperature_c), "°C").into(),
        device.uuid.as_str().into(),
    ]
}
