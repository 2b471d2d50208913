//! The price before renting.

use api::offer::QuoteView;
use clap::Args;

use super::Outcome;
use super::rent::Wish;
use crate::login_file;
use crate::output::{Output, Style, Table, money, per_hour};

/// Show the frozen price of an instance without renting it
#[derive(Debug, Args)]
pub struct Quote {
    #[command(flatten)]
    wish: Wish,
}

impl Quote {
    pub async fn run(self, out: &Output) -> Outcome {
        let view = login_file::client()?.quote(&self.wish.request()).await?;
        out.result(&view, |out| words(&view, out));
        Ok(0)
    }
}

fn words(view: &QuoteView, out: &Output) -> String {
    let (quote, currency) = (&view.quote, view.currency.as_str());
    let mut steps = Table::new(&["HOW THE PRICE IS MADE", &format!(">{currency} AN HOUR")]);
    for line in &quote.lines {
        steps.row(vec![line.what.as_str().into(), line.rate.to_string().into()]);
    }
    let mut facts = Table::new(&[]);
    facts.fact("instance", format!("{} × {}, {}", quote.count, quote.name, quote.plan));
    facts.fact(
        "with",
        format!("{} CPU cores, {} GiB memory, {} GiB disk", quote.cpus, quote.memory_gib, quote.disk_gib),
    );
    facts.fact("free now", format!("{} on one machine", view.free_now));
    facts.fact("per hour", money(quote.per_hour, currency));
    facts.fact("per day", money(quote.per_day, currency));
    facts.fact("per 30 days", money(quote.per_month, currency));
    if quote.disk_rate.micros_per_hour() != 0 {
        facts.fact("more disk", per_hour(quote.disk_rate, currency));
    }
    facts.fact("while stopped", per_hour(quote.stopped_rate, currency));
    facts.fact("set aside", format!("{} at the start, given back at the end", money(quote.hold, currency)));
    facts.fact(
        "balance",
        format!("{}, of which {} are set aside", money(view.balance, currency), money(view.held, currency)),
    );
    let end = view.money_ends_at.map_or_else(|| "never at this price".to_owned(), |at| out.zone.show(at));
    facts.fact("money ends", end);
    facts.fact("a stop", view.stop_note.as_str());
    for rule in &view.rules {
        facts.fact("rule", rule.as_str());
    }
    facts.fact("price book", quote.price_version.as_str());
    let mut text = format!("{}\n{}", steps.render(out.paint), facts.render(out.paint));
    if quote.demonstration {
        text.push_str(&out.paint.text(Style::Yellow, "this price is made up for demonstration"));
        text.push('\n');
    }
    text
}
