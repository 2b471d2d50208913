//! What can be rented, and what it would cost.

use base::{Money, Rate, Timestamp};
use billing::quote::Quote;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Filters of `GET /v1/offers`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OfferQuery {
    /// A GPU model, by any of its names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// At least so many cards on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// `on-demand`, `spot`, `month`, `year`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// At least so much memory on each card, GiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_vram: Option<i64>,
    /// At most so much for one card and hour, a decimal amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_price: Option<String>,
}

/// `GET /v1/offers`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Offers {
    /// Currency of every price.
    pub currency: String,
    /// Version of the price book.
    pub price_version: String,
    /// When stock was counted.
    pub counted_at: Timestamp,
    /// Cheapest first.
    pub offers: Vec<Offer>,
}

/// One GPU model that this site has.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Offer {
    /// Slug of the GPU model.
    pub gpu: String,
    /// As people call it.
    pub name: String,
    /// Memory of one card, GiB.
    pub vram_gib: i64,
    /// Cards that can be rented now.
    pub free: i64,
    /// Cards that the site has in working order.
    pub total: i64,
    /// Most cards of this model free on one machine now.
    pub largest_free_set: i64,
    /// Most cards of this model on one machine.
    pub largest_set: i64,
    /// `container`, `vm`, `node` or `none` (no isolation).
    pub isolation: String,
    /// Whether these are not real cards.
    pub fake: bool,
    /// Whether the price is marked as a demonstration.
    pub demonstration_price: bool,
    /// On demand, one card for one hour. Absent: no price, so it cannot be rented.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_demand: Option<Rate>,
    /// CPU cores that come with each card.
    pub cpus: i64,
    /// Memory that comes with each card, GiB.
    pub memory_gib: i64,
    /// Disk that comes with each card, GiB.
    pub disk_gib: i64,
}

/// `POST /v1/quotes`: the frozen price of a rent request.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct QuoteView {
    /// The price.
    pub quote: Quote,
    /// Currency of every amount.
    pub currency: String,
    /// Cards of this model free on one machine now.
    pub free_now: i64,
    /// What is in the account.
    pub balance: Money,
    /// What is promised to running instances.
    pub held: Money,
    /// When the balance would end if it were started now; absent when it never would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money_ends_at: Option<Timestamp>,
    /// What a stop does and costs, in a sentence.
    pub stop_note: String,
    /// Stop rules that would apply, in sentences.
    pub rules: Vec<String>,
}
