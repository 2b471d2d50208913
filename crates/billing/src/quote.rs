//! The price of an instance, frozen before it is rented.

use base::{Cause, Error, Money, Rate, Result};
use domain::catalogue::{Catalogue, GpuModel};
use domain::resources::{Resources, check_count};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::book::{ModelPrice, PriceBook};
use crate::{Plan, Share};

const HOUR_MS: i64 = 3_600_000;
/// Running time that a start must be able to pay: one hour, ten minutes on spot.
const HOLD_MS: i64 = HOUR_MS;
const SPOT_HOLD_MS: i64 = HOUR_MS / 6;

/// How many rails a node's network has when nothing is said.
pub const DEFAULT_RAILS: i64 = 4;

/// What somebody wants to rent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuoteRequest {
    /// Slug of the GPU model.
    pub model: String,
    /// Cards.
    pub count: i64,
    /// How it is paid.
    #[serde(default)]
    pub plan: Plan,
    /// Network rails, 4 or 8.
    #[serde(default = "default_rails")]
    pub rails: i64,
    /// CPU cores; what the cards include when missing.
    #[serde(default)]
    pub cpus: Option<i64>,
    /// Memory, GiB; what the cards include when missing.
    #[serde(default)]
    pub memory_gib: Option<i64>,
    /// System disk, GiB; what the cards include when missing.
    #[serde(default)]
    pub disk_gib: Option<i64>,
    /// GiB of the account's free storage that other things already use.
    #[serde(default)]
    pub free_gib_used: i64,
}

fn default_rails() -> i64 {
    DEFAULT_RAILS
}

impl QuoteRequest {
    /// `count` cards of a model on demand with what they include.
    pub fn new(model: impl Into<String>, count: i64) -> Self {
        Self {
            model: model.into(),
            count,
            plan: Plan::OnDemand,
            rails: DEFAULT_RAILS,
            cpus: None,
            memory_gib: None,
            disk_gib: None,
            free_gib_used: 0,
        }
    }
}

/// One step of how a rate is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuoteLine {
    /// For people: `1 × RTX 4090 24G at 1.80 per hour`.
    pub what: String,
    /// What it adds to the rate; negative for a discount.
    pub rate: Rate,
}

/// A price, frozen: the rate does not change while the instance runs, whatever
/// becomes of the price book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Quote {
    /// Slug of the GPU model.
    pub model: String,
    /// As people say it.
    pub name: String,
    /// Cards.
    pub count: i64,
    /// How it is paid.
    pub plan: Plan,
    /// Network rails.
    pub rails: i64,
    /// CPU cores.
    pub cpus: i64,
    /// Memory, GiB.
    pub memory_gib: i64,
    /// System disk, GiB.
    pub disk_gib: i64,
    /// Price of an hour ready to use, disk apart.
    pub rate: Rate,
    /// How the rate is made; the lines add up to it.
    pub lines: Vec<QuoteLine>,
    /// Price of an hour of disk beyond what the cards include, while running.
    pub disk_rate: Rate,
    /// Price of an hour while stopped, cards given back: disk beyond the free
    /// allowance of the account.
    pub stopped_rate: Rate,
    /// Price of an hour while stopped with the cards kept, disk apart.
    pub held_rate: Rate,
    /// One hour at `rate`.
    pub per_hour: Money,
    /// 24 hours at `rate`.
    pub per_day: Money,
    /// 30 days at `rate`.
    pub per_month: Money,
    /// What a start sets aside from the balance and gives back at the end.
    pub hold: Money,
    /// Version of the price book.
    pub price_version: String,
    /// Whether the price is made up for demonstration.
    pub demonstration: bool,
}

/// The price of `request` in this book.
///
/// # Errors
/// `invalid-count` or `more-than-exist` for the count, `invalid-request` for
/// impossible amounts or rails, `unknown-gpu` for a slug that the catalogue does
/// not have, `no-price` for a model without an on-demand price, `not-offered`
/// for a plan other than on-demand.
pub fn quote(book: &PriceBook, catalogue: &Catalogue, request: &QuoteRequest) -> Result<Quote> {
    if request.plan != Plan::OnDemand {
        return Err(Error::new(Cause::NotOffered, format!("the plan `{}` is not offered yet", request.plan))
            .hint("rent on demand: --plan on-demand"));
    }
    price(book, catalogue, request)
}

/// As [`quote`], for spot too, whether or not renting offers it.
///
/// # Errors
/// As [`quote`]; `not-offered` only for prepaid plans, which have no rate.
pub fn price(book: &PriceBook, catalogue: &Catalogue, request: &QuoteRequest) -> Result<Quote> {
    let count = check_count(request.count)?;
    let model = model(catalogue, request)?;
    let price = book.model(&model.slug)?;
    let included = price.includes.times(count);
    let wanted = included.with(request.cpus, request.memory_gib, request.disk_gib)?;
    let mut lines = device_lines(book, price, &model.name, request)?;
    lines.extend(extra_lines(book, included, wanted)?);
    let parts = Parts { count, included, wanted, lines, demonstration: price.demonstration };
    freeze(book, model, request, parts)
}

/// The price of reaching the data of an instance without a card: its CPU, memory
/// and disk at the prices for extras. `count`, `plan` and `rails` of the request
/// do not matter.
///
/// # Errors
/// `invalid-request` for impossible amounts, `unknown-gpu` for a model that the
/// catalogue does not have.
pub fn quote_without_card(book: &PriceBook, catalogue: &Catalogue, request: &QuoteRequest) -> Result<Quote> {
    let model = model(catalogue, request)?;
    let included = Resources { cpus: 0, memory_gib: 0, disk_gib: 0 };
    let wanted = Resources::WITHOUT_CARD.with(request.cpus, request.memory_gib, request.disk_gib)?;
    let lines = extra_lines(book, included, wanted)?;
    let request = QuoteRequest { plan: Plan::OnDemand, ..request.clone() };
    // Without cards nothing is included, but the account's free storage still is.
    let included = Resources { disk_gib: free_gib(book, &request), ..included };
    freeze(book, model, &request, Parts { count: 0, included, wanted, lines, demonstration: false })
}

fn model<'a>(catalogue: &'a Catalogue, request: &QuoteRequest) -> Result<&'a GpuModel> {
    match catalogue.get(&request.model) {
        Some(model) => Ok(model),
        None => catalogue.resolve(&request.model),
    }
}

fn free_gib(book: &PriceBook, request: &QuoteRequest) -> i64 {
    book.storage.free_gib.saturating_sub(request.free_gib_used.max(0)).max(0)
}

/// What a quote is put together from.
struct Parts {
    count: i64,
    included: Resources,
    wanted: Resources,
    lines: Vec<QuoteLine>,
    demonstration: bool,
}

fn freeze(book: &PriceBook, model: &GpuModel, request: &QuoteRequest, parts: Parts) -> Result<Quote> {
    let Parts { count, included, wanted, lines, demonstration } = parts;
    let rate = lines.iter().try_fold(Rate::ZERO, |sum, line| sum.plus(line.rate))?;
    let disk = |beyond: i64| book.storage.disk_gib.times(wanted.disk_gib.saturating_sub(beyond).max(0));
    Ok(Quote {
        model: model.slug.clone(),
        name: model.name.clone(),
        count,
        plan: request.plan,
        rails: request.rails,
        cpus: wanted.cpus,
        memory_gib: wanted.memory_gib,
        disk_gib: wanted.disk_gib,
        rate,
        lines,
        disk_rate: disk(included.disk_gib)?,
        stopped_rate: disk(free_gib(book, request))?,
        held_rate: book.hold_share.of_rate(rate)?,
        per_hour: rate.charge(HOUR_MS)?,
        per_day: rate.charge(24 * HOUR_MS)?,
        per_month: rate.charge(720 * HOUR_MS)?,
        hold: rate.charge(if request.plan == Plan::Spot { SPOT_HOLD_MS } else { HOLD_MS })?,
        price_version: book.version.clone(),
        demonstration,
    })
}

/// `round_half_up(device rate × count × plan factor × rails factor)`, taken apart
/// into what each factor adds.
fn device_lines(book: &PriceBook, price: &ModelPrice, name: &str, request: &QuoteRequest) -> Result<Vec<QuoteLine>> {
    let list = price
        .on_demand
        .ok_or_else(|| Error::new(Cause::NoPrice, format!("{name} has no hourly price")).hint("choose another card"))?;
    let (rails, rails_text) = match request.rails {
        4 => (Share::ALL, None),
        8 => (book.rail8_surcharge.on_top(), Some(format!("8 rails: +{}", book.rail8_surcharge))),
        other => {
            return Err(
                Error::new(Cause::InvalidRequest, format!("{other} is not a number of rails")).hint("choose 4 or 8")
            );
        }
    };
    let base = list.times(request.count)?;
    let mut lines = vec![QuoteLine { what: format!("{} × {name} at {list} per hour", request.count), rate: base }];
    let (plan_rate, total) = match (request.plan, price.spot) {
        (Plan::OnDemand, _) => (base, rails.of_rate(base)?),
        (Plan::Spot, Some(spot)) => {
            let spot = spot.times(request.count)?;
            lines.push(QuoteLine { what: "spot price".to_owned(), rate: minus(spot, base)? });
            (spot, rails.of_rate(spot)?)
        }
        (Plan::Spot, None) => {
            let discount = book.spot_discount(price);
            let spot = discount.rest().of_rate(base)?;
            lines.push(QuoteLine { what: format!("spot: -{discount}"), rate: minus(spot, base)? });
            (spot, discount.rest().both_of_rate(rails, base)?)
        }
        (Plan::Month | Plan::Year, _) => {
            return Err(Error::new(Cause::NotOffered, format!("the plan `{}` has no hourly rate", request.plan))
                .hint("rent on demand: --plan on-demand"));
        }
    };
    if let Some(what) = rails_text {
        lines.push(QuoteLine { what, rate: minus(total, plan_rate)? });
    }
    Ok(lines)
}

fn extra_lines(book: &PriceBook, included: Resources, wanted: Resources) -> Result<Vec<QuoteLine>> {
    let mut lines = Vec::new();
    let cpus = wanted.cpus.saturating_sub(included.cpus);
    if cpus > 0 {
        let what = format!("{cpus} CPU cores{}, {} each", beyond(included.cpus), book.extra_cpu);
        lines.push(QuoteLine { what, rate: book.extra_cpu.times(cpus)? });
    }
    let gib = wanted.memory_gib.saturating_sub(included.memory_gib);
    if gib > 0 {
        let each = book.extra_memory_gib;
        let what = format!("{gib} GiB of memory{}, {each} each", beyond(included.memory_gib));
        lines.push(QuoteLine { what, rate: each.times(gib)? });
    }
    Ok(lines)
}

fn beyond(included: i64) -> String {
    if included == 0 { String::new() } else { format!(" beyond the {included} included") }
}

fn minus(a: Rate, b: Rate) -> Result<Rate> {
    a.plus(b.times(-1)?)
}

#[cfg(test)]
mod tests;
