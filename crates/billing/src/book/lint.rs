//! What is wrong or strange in a price book.

use std::fmt;

use base::Rate;
use domain::catalogue::Catalogue;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{PriceBook, read};

/// Hours of a month when it is compared with the hourly price: 30 days.
const MONTH_MS: i64 = 720 * 3_600_000;
/// Hours of a year when it is compared with the hourly price: 365 days.
const YEAR_MS: i64 = 8_760 * 3_600_000;

/// One thing that is wrong or strange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// Line of the file, where there is one.
    pub line: Option<usize>,
    /// Which value: `model[3].on_demand`, or the model's slug for a warning.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// Everything found in a price book.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lint {
    /// The book is refused.
    pub errors: Vec<Finding>,
    /// The book is loaded; these are shown.
    pub warnings: Vec<Finding>,
}

/// Checks the text of a price book, against the one before it where there is one.
pub fn lint(text: &str, catalogue: &Catalogue, previous: Option<&PriceBook>) -> Lint {
    let (book, errors) = read::read(text, catalogue);
    let warnings = book.map(|b| warnings(&b, catalogue, previous)).unwrap_or_default();
    Lint { errors, warnings }
}

pub(super) fn warnings(book: &PriceBook, catalogue: &Catalogue, previous: Option<&PriceBook>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut warn = |path: String, message: String, hint: &str| {
        found.push(Finding { line: None, path, message, hint: hint.to_owned() });
    };
    for (slug, price) in &book.models {
        let name = catalogue.get(slug).map_or(slug.as_str(), |m| m.name.as_str());
        for (key, prepaid, ms, hours) in [("month", price.month, MONTH_MS, 720), ("year", price.year, YEAR_MS, 8_760)] {
            let on_demand = price.on_demand.and_then(|rate| rate.charge(ms).ok());
            if let Some((prepaid, hourly)) = prepaid.zip(on_demand).filter(|(prepaid, hourly)| prepaid > hourly) {
                let message =
                    format!("{name}: a {key} costs {prepaid}, {hours} h on demand cost {hourly}: nobody should buy it");
                warn(format!("{slug}.{key}"), message, "lower the prepaid price, or leave it out");
            }
        }
        let before = previous.filter(|p| p.currency == book.currency).and_then(|p| p.models.get(slug));
        if let Some((now, before)) = price.on_demand.zip(before.and_then(|p| p.on_demand))
            && far(now, before)
        {
            let message = format!("{name}: on-demand {now} is far from {before} in the book before");
            warn(format!("{slug}.on_demand"), message, "check the decimal point; running instances keep their rate");
        }
    }
    for (i, pair) in book.tiers.windows(2).enumerate() {
        if let [smaller, larger] = pair
            && larger.discount < smaller.discount
        {
            let message = format!(
                "the bracket above {} gives {}, less than the {} of the smaller one above {}",
                larger.above, larger.discount, smaller.discount, smaller.above
            );
            warn(format!("tier[{}].discount", i + 1), message, "larger spend is usually cheaper, not dearer");
        }
    }
    found
}

/// More than three times dearer or cheaper.
fn far(now: Rate, before: Rate) -> bool {
    let (now, before) = (i128::from(now.micros_per_hour()), i128::from(before.micros_per_hour()));
    now > before * 3 || before > now * 3
}
