//! What can be rented now.

use api::offer::OfferQuery;
use clap::Args;

use super::Outcome;
use crate::login_file;
use crate::output::{Cell, Output, Style, Table};

/// Show what can be rented now, with stock and price
#[derive(Debug, Args)]
pub struct Offers {
    /// Only this GPU model, by any of its names
    #[arg(long, value_name = "MODEL")]
    gpu: Option<String>,
    /// Only models with so many cards on one machine
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    count: Option<i64>,
    /// Only models with a price for this plan
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// Only cards with so much memory
    #[arg(long, value_name = "GIB", allow_negative_numbers = true)]
    min_vram: Option<i64>,
    /// Only cards that cost at most so much an hour
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    max_price: Option<String>,
}

impl Offers {
    pub async fn run(self, out: &Output) -> Outcome {
        let query = OfferQuery {
            gpu: self.gpu,
            count: self.count,
            plan: self.plan,
            min_vram: self.min_vram,
            max_price: self.max_price,
        };
        let offers = login_file::client()?.offers(&query).await?;
        out.result(&offers, |out| words(&offers, out));
        Ok(0)
    }
}

fn words(list: &api::offer::Offers, out: &Output) -> String {
    if list.offers.is_empty() {
        return "nothing that fits is offered here; `suanli offers` without filters shows everything\n".into();
    }
    let price = format!(">{} PER CARD AND HOUR", list.currency);
    let mut table =
        Table::new(&["GPU", ">MEMORY", ">FREE", ">TOTAL", ">LARGEST SET", &price, "WITH EACH CARD", "ISOLATION", ""]);
    for offer in &list.offers {
        let free = if offer.free > 0 { Style::Green } else { Style::Dim };
        let price = offer.on_demand.map_or_else(|| "no price".to_owned(), |rate| rate.to_string());
        let with = format!("{} cores, {} GiB, disk {} GiB", offer.cpus, offer.memory_gib, offer.disk_gib);
        table.row(vec![
            offer.name.as_str().into(),
            format!("{} GiB", offer.vram_gib).into(),
            Cell::styled(offer.free.to_string(), free),
            offer.total.to_string().into(),
            format!("{} of {}", offer.largest_free_set, offer.largest_set).into(),
            price.into(),
            with.into(),
            isolation(&offer.isolation),
            remarks(offer).into(),
        ]);
    }
    let mut text = table.render(out.paint);
    text.push_str(&format!(
        "\nprices on demand in {} from price book {}; stock counted at {}\n",
        list.currency,
        list.price_version,
        out.zone.show(list.counted_at)
    ));
    if list.offers.iter().any(|offer| offer.fake) {
        text.push_str("fake: these are not real cards; everything else about them works\n");
    }
    text
}

fn remarks(offer: &api::offer::Offer) -> String {
    let mut remarks = Vec::new();
    if offer.fake {
        remarks.push("fake");
    }
    if offer.demonstration_price {
        remarks.push("demonstration price");
    }
    remarks.join(", ")
}

/// How instances are kept apart; nothing at all is a warning.
pub fn isolation(kind: &str) -> Cell {
    match kind {
        "none" => Cell::styled("none", Style::Red),
        other => other.into(),
    }
}
