//! A month's bill put together from segments, postings and evidence.

use std::collections::BTreeMap;

use base::{Cause, Error, InstanceId, Money, Result, Timestamp, time::month_bounds};
use billing::bill::{Bill, BillEntry, BillInput, BillInstance, BillSegment, Item, LostTime};
use billing::ledger::{Book, effect};
use sqlx::AnyConnection;
use store::accounts::Account;
use store::segments::{self, Segment};
use store::{instances, nodes, postings};

use crate::state::App;

/// The bill of `account` for `month` (`YYYY-MM` in its time zone), as of now.
///
/// # Errors
/// A month that does not exist, or the database's.
pub async fn bill(app: &App, db: &mut AnyConnection, account: &Account, month: Option<&str>) -> Result<Bill> {
    let as_of = app.now();
    let month = match month {
        Some(month) => month.to_owned(),
        None => as_of.in_zone(&account.time_zone)?.get(..7).unwrap_or_default().to_owned(),
    };
    let shape =
        |b: &[u8]| b.len() == 7 && b.iter().enumerate().all(|(i, b)| b.is_ascii_digit() || (i == 4 && *b == b'-'));
    if !shape(month.as_bytes()) {
        return Err(Error::new(Cause::InvalidRequest, format!("`{}` is not a month", month.escape_debug()))
            .hint("write the month as YYYY-MM, for example 2026-03"));
    }
    let (from, to) = month_bounds(&month, &account.time_zone)?;
    let mut by_instance: BTreeMap<InstanceId, Vec<Segment>> = BTreeMap::new();
    for segment in segments::of_account(db, &account.id, from, to).await? {
        by_instance.entry(segment.instance.clone()).or_default().push(segment);
    }
    let mut instances = Vec::new();
    for (id, segments) in by_instance {
        instances.push(instance(app, db, &id, segments, from, to).await?);
    }
    let balance = Book::Balance(account.id.clone());
    let entries = postings::of_account(db, &account.id, from, to).await?;
    let entries = entries.iter().filter(|p| p.segment.is_none()).map(|p| BillEntry {
        at: p.at,
        what: p.kind.to_string(),
        amount: Money::from_micros(effect(p, &balance)),
    });
    Bill::new(BillInput {
        account: account.id.clone(),
        zone: account.time_zone.clone(),
        currency: account.currency.clone(),
        month,
        as_of,
        instances,
        entries: entries.collect(),
    })
}

async fn instance(
    app: &App,
    db: &mut AnyConnection,
    id: &InstanceId,
    all: Vec<Segment>,
    from: Timestamp,
    to: Timestamp,
) -> Result<BillInstance> {
    let found =
        instances::get(db, id).await?.ok_or_else(|| Error::internal(format!("{id} is billed but not there")))?;
    let mut lost = Vec::new();
    let mut lines = Vec::new();
    let mut fake = false;
    for s in &all {
        fake |= s.devices.iter().any(|serial| serial.to_ascii_lowercase().contains("fake"));
        let until = s.to.unwrap_or(to).max(s.from);
        if s.closed_by.as_deref() == Some("node-lost") {
            // The hole begins where this segment ends; it is recorded with its node.
            for gap in segments::gaps(db, &s.node, until, until.after(base::Span::from_micros(1))).await? {
                lost.push(LostTime { from: gap.from, to: Some(gap.to), why: gap.why });
            }
        }
        lines.push(segment(db, s, from, to).await?);
    }
    Ok(BillInstance {
        id: found.id,
        name: if found.name.is_empty() { found.slug.to_string() } else { found.name },
        project: found.project,
        gpu: app.catalogue.get(&found.gpu).map_or(found.gpu.clone(), |m| m.name.clone()),
        count: found.count,
        plan: found.plan,
        fake,
        segments: lines,
        lost,
    })
}

async fn segment(db: &mut AnyConnection, s: &Segment, from: Timestamp, to: Timestamp) -> Result<BillSegment> {
    let before = postings::sum_for_segment_between(db, &s.id, Timestamp::EPOCH, from).await?;
    let within = postings::sum_for_segment_between(db, &s.id, from, to).await?;
    let settled = s.to.is_some() && s.due_at.is_none();
    let proven_until = match settled {
        true => None,
        false => nodes::get(db, &s.node).await?.map(|n| n.proven_until),
    };
    Ok(BillSegment {
        id: s.id.clone(),
        item: Item::Device,
        from: s.from,
        to: s.to,
        rate: s.rate,
        price_version: s.price_version.clone(),
        serials: s.devices.clone(),
        posted_before: before,
        posted: within,
        proven_until,
        evidence: Some(s.evidence.clone()),
        ended: s.closed_by.as_deref().map(ended),
    })
}

/// Why a segment ended, in words.
fn ended(code: &str) -> String {
    match code {
        "by-renter" => "stopped by the renter",
        "by-operator" => "stopped by the operator",
        "idle" => "stopped by its idle rule",
        "timer" => "stopped by its timer rule",
        "budget-spent" => "stopped because its budget was spent",
        "money-ended" => "stopped because the account's money ended",
        "init-died" => "its first process ended",
        "node-lost" => "its machine was lost",
        "never-proven" => "its machine never proved more than this",
        other => other,
    }
    .to_owned()
}
