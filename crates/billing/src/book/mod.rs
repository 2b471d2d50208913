//! The price book: what one card of each model costs, what comes with it and
//! what more costs. Read from TOML text; see `data/demo-prices.toml` for the form.

mod lint;
mod read;
mod reader;
mod version;

use std::collections::BTreeMap;

use base::{Cause, Error, Money, Rate, Result};
use domain::catalogue::Catalogue;
use domain::resources::Resources;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Share;
pub use lint::{Finding, Lint, lint};

/// The text of the demonstration price book that is part of the program.
pub const DEMO: &str = include_str!("../../data/demo-prices.toml");

/// A price book without errors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PriceBook {
    /// What the operator calls it.
    pub name: String,
    /// Currency of every amount, ISO 4217.
    pub currency: String,
    /// The day it is from, `2026-03-01`.
    pub dated: String,
    /// Sixteen hex digits that change with the content, not with comments or order.
    pub version: String,
    /// One CPU core beyond what is included, per hour.
    pub extra_cpu: Rate,
    /// One GiB of memory beyond what is included, per hour.
    pub extra_memory_gib: Rate,
    /// Storage.
    pub storage: Storage,
    /// Taken off the list rate on spot, unless a model says otherwise.
    pub spot_discount: Share,
    /// Put on top for 8 network rails.
    pub rail8_surcharge: Share,
    /// Share of the rate at which a stopped instance keeps its cards.
    pub hold_share: Share,
    /// Extra money with a yearly pack.
    pub year_pack_bonus: Share,
    /// Put on top for a whole node alone.
    pub exclusive_node_surcharge: Share,
    /// Marginal discounts on an account's device spend in a month, ascending.
    pub tiers: Vec<Tier>,
    /// By slug of the GPU model.
    pub models: BTreeMap<String, ModelPrice>,
}

/// Prices of what outlives an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Storage {
    /// One GiB of system disk, per hour.
    pub disk_gib: Rate,
    /// One GiB of a volume, per hour.
    pub volume_gib: Rate,
    /// One GiB of a saved image, per hour.
    pub image_gib: Rate,
    /// GiB that each account has for nothing.
    pub free_gib: i64,
}

/// One bracket of the volume discount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Tier {
    /// Spend of the month above which it applies.
    pub above: Money,
    /// Taken off that part.
    pub discount: Share,
}

/// Prices of one GPU model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelPrice {
    /// Slug of the model.
    pub gpu: String,
    /// One card, per hour, on demand. `None`: not offered on demand.
    pub on_demand: Option<Rate>,
    /// One card on spot, per hour, where the book fixes it.
    pub spot: Option<Rate>,
    /// In place of the book's spot discount.
    pub spot_discount: Option<Share>,
    /// One card for a calendar month, prepaid.
    pub month: Option<Money>,
    /// One card for a calendar year, prepaid.
    pub year: Option<Money>,
    /// What each card brings with it.
    pub includes: Resources,
    /// For people.
    pub note: Option<String>,
    /// Not a published price: made up so that there is something to show.
    pub demonstration: bool,
}

impl PriceBook {
    /// Reads a book. Warnings do not stop it.
    ///
    /// # Errors
    /// `invalid-price-book`: the first errors in the message, every error in the
    /// context.
    pub fn parse(text: &str, catalogue: &Catalogue) -> Result<(Self, Vec<Finding>)> {
        let (book, errors) = read::read(text, catalogue);
        match book {
            Some(book) if errors.is_empty() => {
                let warnings = lint::warnings(&book, catalogue, None);
                Ok((book, warnings))
            }
            _ => Err(refusal(&errors)),
        }
    }

    /// The demonstration book.
    ///
    /// # Errors
    /// Only if the program's own data were broken, which a test rules out.
    pub fn demonstration() -> Result<Self> {
        Self::parse(DEMO, Catalogue::builtin()).map(|(book, _)| book)
    }

    /// Prices of a model.
    ///
    /// # Errors
    /// `no-price` when the book has none.
    pub fn model(&self, slug: &str) -> Result<&ModelPrice> {
        self.models.get(slug).ok_or_else(|| {
            Error::new(Cause::NoPrice, format!("the price book `{}` has no price for {slug}", self.name))
                .hint("choose another card, or ask the operator to add a price")
        })
    }

    /// The discount that spot brings for a model.
    pub fn spot_discount(&self, price: &ModelPrice) -> Share {
        price.spot_discount.unwrap_or(self.spot_discount)
    }

    /// One list rate less the month's volume discount: what `list` more of device
    /// spend costs an account that has already spent `before` this month (both at
    /// list). A bracket boundary inside the charge splits it exactly.
    ///
    /// # Errors
    /// `invalid-amount` when it is too large to count.
    pub fn after_tiers(&self, before: Money, list: Money) -> Result<Money> {
        let total = before.plus(list)?;
        self.tiered(total)?.minus(self.tiered(before)?)
    }

    /// What a month's list spend costs after the tiers, rounded half-up once.
    fn tiered(&self, list: Money) -> Result<Money> {
        let mut saved_millionths = 0i128;
        for (i, tier) in self.tiers.iter().enumerate() {
            let top = self.tiers.get(i + 1).map_or(list, |next| next.above.min(list));
            let part = i128::from(top.micros()) - i128::from(tier.above.micros());
            saved_millionths += part.max(0) * i128::from(tier.discount.millionths());
        }
        let cost = (i128::from(list.micros()) * 1_000_000 - saved_millionths + 500_000).div_euclid(1_000_000);
        i64::try_from(cost)
            .map(Money::from_micros)
            .map_err(|_| Error::new(Cause::InvalidAmount, "the month's spend is too large to count"))
    }
}

fn refusal(errors: &[Finding]) -> Error {
    let first: Vec<String> = errors.iter().take(3).map(Finding::to_string).collect();
    let more = errors.len().saturating_sub(first.len());
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    let error = Error::new(Cause::InvalidPriceBook, format!("the price book has errors: {}{more}", first.join("; ")));
    match errors.first() {
        Some(finding) => error.hint(finding.hint.clone()),
        None => error,
    }
}

#[cfg(test)]
mod tests;
