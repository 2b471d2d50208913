//! `docs/operate.md` says what is true.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use server::limits::Limits;
use server::metrics::{ALL, Kind};
use server::observed::Limit;

const PAGE: &str = include_str!("../../../../docs/operate.md");

/// The rows of the table below a heading, without its own heading.
fn table(heading: &str) -> Vec<Vec<String>> {
    let (_, below) = PAGE.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no `{heading}`"));
    let lines = below.lines().take_while(|line| !line.starts_with("## "));
    let rows = lines.filter_map(|line| line.trim().strip_prefix('|')?.strip_suffix('|'));
    rows.skip(2).map(|row| row.split('|').map(|cell| cell.trim().replace('`', "")).collect()).collect()
}

#[test]
fn the_page_lists_exactly_the_metrics_that_there_are() {
    let told = table("## Metrics");
    let real: Vec<Vec<String>> = ALL
        .iter()
        .map(|m| {
            let kind = if m.kind == Kind::Counter { "counter" } else { "gauge" };
            let labels = if m.labels.is_empty() { "–".to_owned() } else { m.labels.join(", ") };
            vec![m.wire_name(), kind.to_owned(), labels, m.help.to_owned()]
        })
        .collect();
    assert_eq!(told, real);
}

#[test]
fn the_page_tells_every_limit_with_its_default() {
    let limits = Limits::default();
    let told: BTreeMap<String, String> =
        table("## Limits").into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let per_second =
        |rate: server::limits::Rate| format!("{:.0} a second, {} at once", 1.0 / rate.every.as_secs_f64(), rate.burst);
    let every =
        |rate: server::limits::Rate| format!("{} at once, then one every {} s", rate.burst, rate.every.as_secs());
    let real = BTreeMap::from([
        (Limit::Connections, limits.connections.to_string()),
        (Limit::ConnectionsOfAddress, limits.connections_per_address.to_string()),
        (Limit::Token, per_second(limits.per_token)),
        (Limit::User, per_second(limits.per_user)),
        (Limit::Address, per_second(limits.per_address)),
        (Limit::Login, format!("{}; from one address {}", every(limits.logins), every(limits.logins_per_address))),
        (Limit::SignUp, every(limits.signups_per_address)),
        (Limit::Code, every(limits.codes)),
        (Limit::Time, format!("{} s", limits.answer.as_secs())),
        (Limit::Stalled, format!("{} s", limits.stalled.as_secs())),
    ]);
    let real: BTreeMap<String, String> = real.into_iter().map(|(l, text)| (l.as_str().to_owned(), text)).collect();
    assert_eq!(told, real);
}

/// Every kind that the controllers open, with whether they say what to do about it.
fn opened() -> BTreeMap<String, bool> {
    fn sources(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut texts = Vec::new();
    for source in ["../control/src", "src", "../store/src"] {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(source), &mut texts);
    }
    let mut kinds = BTreeMap::new();
    for text in &texts {
        for (at, call) in text.match_indices("incidents::open(") {
            let after = &text[at + call.len()..];
            let kind = after.split('"').nth(1).unwrap().to_owned();
            // The words stand in the call or shortly before it.
            let before = text[..at].rsplit_once("let action = ").map_or("", |(_, rest)| rest);
            let action = before.split('"').nth(1).unwrap_or_default();
            let says = action.split(' ').count() >= 3 && before.len() < 600;
            kinds.insert(kind, says);
        }
    }
    kinds
}

#[test]
fn every_kind_of_incident_says_what_to_do_and_is_on_the_page() {
    let opened = opened();
    assert!(opened.len() >= 6, "{opened:?}");
    for (kind, says) in &opened {
        assert!(says, "incident `{kind}` is opened without an action");
    }
    let told: BTreeSet<String> = table("## Incidents").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(told, opened.into_keys().collect());
}
