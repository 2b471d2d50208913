//! What the server counts, gathered when it is asked for.

mod list;
mod process;
mod site;

use base::{Error, Result};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

pub use list::{ALL, Described, Kind, PREFIX};

use crate::state::App;

type Labels = Vec<(&'static str, String)>;

/// The values of one metric: for each the values of its labels, in the order in
/// which [`ALL`] names them.
struct Values {
    name: &'static str,
    values: Vec<(Vec<String>, i64)>,
}

impl Values {
    fn one(name: &'static str, value: i64) -> Self {
        Self { name, values: vec![(vec![], value)] }
    }

    fn by<L: Into<String>>(name: &'static str, values: impl IntoIterator<Item = (L, i64)>) -> Self {
        Self { name, values: values.into_iter().map(|(label, value)| (vec![label.into()], value)).collect() }
    }
}

/// All metrics in the OpenMetrics text format.
///
/// # Errors
/// The database's.
pub async fn text(app: &App) -> Result<String> {
    let mut values = site::gather(app).await?;
    values.extend(process::gather(app));
    write(&values)
}

fn write(gathered: &[Values]) -> Result<String> {
    let mut registry = Registry::with_prefix(PREFIX);
    for metric in gathered {
        let described = ALL.iter().find(|d| d.name == metric.name);
        let described = described.ok_or_else(|| Error::internal(format!("{} is in no list", metric.name)))?;
        let labelled = metric.values.iter().map(|(labels, value)| {
            let labels: Labels = described.labels.iter().copied().zip(labels.iter().cloned()).collect();
            (labels, *value)
        });
        match described.kind {
            Kind::Gauge => {
                let family = Family::<Labels, Gauge>::default();
                labelled.for_each(|(labels, value)| {
                    family.get_or_create(&labels).set(value);
                });
                registry.register(described.name, described.help, family);
            }
            Kind::Counter => {
                let family = Family::<Labels, Counter>::default();
                labelled.for_each(|(labels, value)| {
                    family.get_or_create(&labels).inc_by(u64::try_from(value).unwrap_or(0));
                });
                registry.register(described.name, described.help, family);
            }
        }
    }
    let mut text = String::new();
    encode(&mut text, &registry).map_err(Error::internal)?;
    Ok(text)
}
