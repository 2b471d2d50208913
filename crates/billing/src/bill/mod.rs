//! The bill: a document over a month's postings, grouped by instance.
//!
//! Every line is rounded half-up to 0.01 for people; one rounding line carries
//! the difference, so that the total is the ledger's to the micro-unit.

mod line;
mod text;

use std::collections::BTreeMap;

use base::{AccountId, InstanceId, Money, Rate, Result, SegmentId, Span, Timestamp, time::month_bounds};
use domain::project::Project;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Plan;

pub use text::{render_projects, render_text};

/// What a segment is the time of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Item {
    /// Cards, CPU and memory, ready to use.
    Device,
    /// Cards kept while stopped.
    Hold,
    /// System disk.
    Disk,
}

/// A stretch in which the node or a card was lost, or nothing was proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LostTime {
    /// Last proof of life before it.
    pub from: Timestamp,
    /// First proof of life after it; absent while it lasts.
    pub to: Option<Timestamp>,
    /// What was lost, in words.
    pub why: String,
}

/// One segment, as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BillSegment {
    /// Which segment.
    pub id: SegmentId,
    /// What it is the time of.
    pub item: Item,
    /// First billable moment.
    pub from: Timestamp,
    /// End; absent while it is open.
    pub to: Option<Timestamp>,
    /// Frozen price of an hour.
    pub rate: Rate,
    /// Version of the price book that it was frozen from.
    pub price_version: String,
    /// Serials (or UUIDs) of the cards held.
    pub serials: Vec<String>,
    /// Posted for it before this month.
    pub posted_before: Money,
    /// Posted for it with a time in this month.
    pub posted: Money,
    /// How far the node has proven itself, for what is not posted yet. `None` when
    /// everything is posted: then nothing but `posted` counts.
    pub proven_until: Option<Timestamp>,
    /// What proved that the renter could use it.
    pub evidence: Option<String>,
    /// Why it ended, in words.
    pub ended: Option<String>,
}

/// One instance with its segments in the month.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BillInstance {
    /// Which instance.
    pub id: InstanceId,
    /// The renter's own name for it, or its slug.
    pub name: String,
    /// What it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Project>,
    /// GPU model as people say it.
    pub gpu: String,
    /// Cards.
    pub count: i64,
    /// How it is paid.
    pub plan: Plan,
    /// Whether the cards are not real ones.
    pub fake: bool,
    /// Segments that touch the month, in any order.
    pub segments: Vec<BillSegment>,
    /// Lost time in the month.
    pub lost: Vec<LostTime>,
}

/// A posting of the month that belongs to no segment: a top-up, credit or refund.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BillEntry {
    /// When.
    pub at: Timestamp,
    /// For people.
    pub what: String,
    /// What it adds to the account's money; negative when it takes away.
    pub amount: Money,
}

/// Everything that a bill is made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BillInput {
    /// Whose bill.
    pub account: AccountId,
    /// IANA time zone in which months begin and times are shown.
    pub zone: String,
    /// Currency of every amount.
    pub currency: String,
    /// `2026-03`, in `zone`.
    pub month: String,
    /// When the bill is made.
    pub as_of: Timestamp,
    /// Instances with time in the month.
    pub instances: Vec<BillInstance>,
    /// Other postings of the month.
    pub entries: Vec<BillEntry>,
}

/// One line: a segment's part in the month.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BillLine {
    /// What it is the time of.
    pub item: Item,
    /// Begin of the part in this month.
    pub from: Timestamp,
    /// End of the part in this month; absent when it goes on.
    pub to: Option<Timestamp>,
    /// How long it was billed, microseconds.
    pub billed: Span,
    /// Frozen price of an hour.
    pub rate: Rate,
    /// Serials (or UUIDs) of the cards.
    pub serials: Vec<String>,
    /// How it is paid.
    pub plan: Plan,
    /// Rounded half-up to 0.01.
    pub amount: Money,
    /// To the micro-unit.
    pub exact: Money,
    /// Whether a part is not posted yet, so the amount can still grow.
    pub so_far: bool,
    /// The facts behind the line.
    pub explain: Explain,
}

/// What a line opens to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Explain {
    /// Which segment.
    pub segment: SegmentId,
    /// Version of the price book.
    pub price_version: String,
    /// The arithmetic, in words.
    pub arithmetic: String,
    /// What proved that the renter could use it.
    pub evidence: Option<String>,
    /// Why it ended, in words.
    pub ended: Option<String>,
}

/// The lines of one instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BillGroup {
    /// Which instance.
    pub instance: InstanceId,
    /// The renter's own name for it, or its slug.
    pub name: String,
    /// What it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Project>,
    /// GPU model as people say it.
    pub gpu: String,
    /// Cards.
    pub count: i64,
    /// Whether the cards are not real ones.
    pub fake: bool,
    /// Oldest first.
    pub lines: Vec<BillLine>,
    /// Time that was not billed because something of ours was lost.
    pub lost: Vec<LostTime>,
    /// Sum of the rounded lines.
    pub amount: Money,
}

/// What the instances of one project cost in the month.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BillProject {
    /// Which project; absent for everything that belongs to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Project>,
    /// Instances on the bill.
    pub instances: i64,
    /// To the micro-unit. All of them together are the bill's total.
    pub total: Money,
}

/// A month's bill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Bill {
    /// Whose bill.
    pub account: AccountId,
    /// IANA time zone in which the month begins and times are shown.
    pub zone: String,
    /// Currency of every amount.
    pub currency: String,
    /// `2026-03`.
    pub month: String,
    /// First moment of the month.
    pub from: Timestamp,
    /// First moment of the next.
    pub to: Timestamp,
    /// When the bill was made.
    pub as_of: Timestamp,
    /// By instance, oldest first.
    pub groups: Vec<BillGroup>,
    /// By project: what belongs to none first, then by name.
    #[serde(default)]
    #[schema(required = true)]
    pub projects: Vec<BillProject>,
    /// Sum of the rounded lines.
    pub lines_total: Money,
    /// `total` less `lines_total`.
    pub rounding: Money,
    /// What the month costs, to the micro-unit: posted and so far.
    pub total: Money,
    /// `total` rounded half-up to 0.01.
    pub total_rounded: Money,
    /// What of `total` is in the ledger.
    pub posted: Money,
    /// What of `total` is not posted yet.
    pub so_far: Money,
    /// Top-ups, credits and refunds of the month; no part of `total`.
    pub entries: Vec<BillEntry>,
    /// Their sum.
    pub entries_total: Money,
}

impl Bill {
    /// Makes the bill of a month.
    ///
    /// # Errors
    /// `invalid-request` for a month or zone that does not exist,
    /// `invalid-amount` when a sum is too large to count.
    pub fn new(input: BillInput) -> Result<Self> {
        let (from, to) = month_bounds(&input.month, &input.zone)?;
        let month = line::Month { from, to, as_of: input.as_of };
        let (mut groups, mut posted, mut so_far) = (Vec::new(), Money::ZERO, Money::ZERO);
        let mut instances = input.instances;
        instances.sort_by_key(|i| (i.segments.iter().map(|s| s.from).min(), i.id.clone()));
        for mut instance in instances {
            instance.segments.sort_by_key(|s| (s.from, s.item, s.id.clone()));
            let mut lines = Vec::new();
            for segment in &instance.segments {
                let Some((line, open)) = line::line(segment, instance.plan, month)? else { continue };
                posted = posted.plus(segment.posted)?;
                so_far = so_far.plus(open)?;
                lines.push(line);
            }
            if lines.is_empty() {
                continue;
            }
            let amount = Money::sum(lines.iter().map(|l| l.amount))?;
            let mut lost = instance.lost;
            lost.sort_by_key(|l| l.from);
            let BillInstance { id, name, project, gpu, count, fake, .. } = instance;
            groups.push(BillGroup { instance: id, name, project, gpu, count, fake, lines, lost, amount });
        }
        let lines_total = Money::sum(groups.iter().map(|g| g.amount))?;
        let total = posted.plus(so_far)?;
        let mut entries = input.entries;
        entries.sort_by_key(|e| e.at);
        Ok(Self {
            account: input.account,
            zone: input.zone,
            currency: input.currency,
            month: input.month,
            from,
            to,
            as_of: input.as_of,
            projects: by_project(&groups)?,
            groups,
            lines_total,
            rounding: total.minus(lines_total)?,
            total,
            total_rounded: total.rounded_to_cents(),
            posted,
            so_far,
            entries_total: Money::sum(entries.iter().map(|e| e.amount))?,
            entries,
        })
    }
}

/// Exact amounts, so that nothing is left over when a total is divided.
fn by_project(groups: &[BillGroup]) -> Result<Vec<BillProject>> {
    let mut sums: BTreeMap<Option<&Project>, (i64, Money)> = BTreeMap::new();
    for group in groups {
        let (instances, total) = sums.entry(group.project.as_ref()).or_default();
        *instances = instances.saturating_add(1);
        *total = total.plus(Money::sum(group.lines.iter().map(|l| l.exact))?)?;
    }
    let one = |(project, (instances, total)): (Option<&Project>, (i64, Money))| BillProject {
        project: project.cloned(),
        instances,
        total,
    };
    Ok(sums.into_iter().map(one).collect())
}

#[cfg(test)]
mod tests;
