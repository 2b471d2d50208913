//! The bill as text for a terminal.

use std::fmt::Write as _;

use base::{Money, Timestamp};
use domain::project::Project;

use super::{Bill, BillGroup, BillLine, Item};

/// The bill for a terminal; with `explain`, every line opens to the facts behind it.
pub fn render_text(bill: &Bill, explain: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "Bill {} of {}, {}, times in {}", bill.month, bill.account, bill.currency, bill.zone);
    for group in &bill.groups {
        write_group(&mut out, bill, group, explain);
    }
    if bill.groups.is_empty() {
        out.push_str("\nNothing was used in this month.\n");
    }
    out.push('\n');
    row(&mut out, "lines", bill.lines_total);
    if bill.rounding != Money::ZERO {
        row(&mut out, "rounding (lines are rounded to 0.01)", bill.rounding);
    }
    row(&mut out, "total", bill.total);
    if bill.total != bill.total_rounded {
        row(&mut out, "total, rounded", bill.total_rounded);
    }
    if bill.so_far != Money::ZERO {
        row(&mut out, &format!("of this not posted yet, so far at {}", clock(bill, bill.as_of)), bill.so_far);
    }
    if !bill.entries.is_empty() {
        out.push_str("\nPaid in, credited and paid back (not part of the total)\n");
        for entry in &bill.entries {
            row(&mut out, &format!("  {}  {}", clock(bill, entry.at), entry.what), entry.amount);
        }
    }
    out
}

/// What each project cost, for a terminal.
pub fn render_projects(bill: &Bill) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "Bill {} of {}, {}, by project", bill.month, bill.account, bill.currency);
    if bill.projects.is_empty() {
        out.push_str("\nNothing was used in this month.\n");
    }
    out.push('\n');
    for one in &bill.projects {
        let name = one.project.as_ref().map_or("without a project", Project::as_str);
        let noun = if one.instances == 1 { "instance" } else { "instances" };
        row(&mut out, &format!("{name}  {} {noun}", one.instances), one.total);
    }
    row(&mut out, "total", bill.total);
    out
}

fn write_group(out: &mut String, bill: &Bill, group: &BillGroup, explain: bool) {
    let fake = if group.fake { "  [fake cards]" } else { "" };
    let project = group.project.as_ref().map(|name| format!("  project {name}")).unwrap_or_default();
    let _ = writeln!(out, "\n{} ({})  {} × {}{fake}{project}", group.name, group.instance, group.count, group.gpu);
    for line in &group.lines {
        write_line(out, bill, line, explain);
    }
    for lost in &group.lost {
        let to = lost.to.map_or_else(|| "now".to_owned(), |to| clock(bill, to));
        let _ = writeln!(out, "  not billed  {} – {to}  {}", clock(bill, lost.from), lost.why);
    }
    row(out, "  this instance", group.amount);
}

fn write_line(out: &mut String, bill: &Bill, line: &BillLine, explain: bool) {
    let what = match line.item {
        Item::Device => line.plan.as_str(),
        Item::Hold => "cards kept",
        Item::Disk => "disk",
    };
    let to = line.to.map_or_else(|| "now".to_owned(), |to| clock(bill, to));
    let so_far = if line.so_far { "  so far" } else { "" };
    let free = if line.rate.micros_per_hour() == 0 { "  inside the free allowance" } else { "" };
    let text = format!("  {what}  {} – {to}  {} at {}/h{so_far}{free}", clock(bill, line.from), line.billed, line.rate);
    row(out, &text, line.amount);
    if !line.serials.is_empty() {
        let _ = writeln!(out, "      cards {}", line.serials.join(", "));
    }
    if explain {
        let why = &line.explain;
        let _ = writeln!(out, "      segment {}, prices {}", why.segment, why.price_version);
        let _ = writeln!(out, "      {}", why.arithmetic);
        for (label, text) in [("ready", &why.evidence), ("ended", &why.ended)] {
            if let Some(text) = text {
                let _ = writeln!(out, "      {label}: {text}");
            }
        }
    }
}

/// A label and an amount whose decimal points stand in one column.
fn row(out: &mut String, label: &str, amount: Money) {
    let amount = amount.to_string();
    let whole = amount.find('.').unwrap_or(amount.len());
    let pad = 96usize.saturating_sub(label.chars().count() + whole);
    let _ = writeln!(out, "{label}{:pad$}{amount}", "");
}

/// An instant in the bill's own zone; the zone was checked when the bill was made.
fn clock(bill: &Bill, at: Timestamp) -> String {
    at.in_zone(&bill.zone).unwrap_or_else(|_| at.to_string())
}
