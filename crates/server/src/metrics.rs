//! What the server counts, gathered when it is asked for.

use base::{Error, Result};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use store::lease::{Kind, queue};
use store::{allocations, instances};

use crate::state::App;

type Labels = Vec<(&'static str, &'static str)>;

/// One metric and its values.
struct Metric {
    name: &'static str,
    help: &'static str,
    values: Vec<(Labels, i64)>,
}

/// All metrics in the OpenMetrics text format.
///
/// # Errors
/// The database's.
pub async fn text(app: &App) -> Result<String> {
    let mut metrics = Vec::from(queues(app).await?);
    metrics.extend(fleet(app).await?);
    metrics.extend(controllers(app));
    write(metrics)
}

fn write(metrics: Vec<Metric>) -> Result<String> {
    let mut registry = Registry::with_prefix("suanli");
    for metric in metrics {
        let family = Family::<Labels, Gauge>::default();
        for (labels, value) in &metric.values {
            family.get_or_create(labels).set(*value);
        }
        registry.register(metric.name, metric.help, family);
    }
    let mut text = String::new();
    encode(&mut text, &registry).map_err(Error::internal)?;
    Ok(text)
}

async fn queues(app: &App) -> Result<[Metric; 2]> {
    let (mut due, mut age) = (Vec::new(), Vec::new());
    let mut db = app.store.read().await?;
    for kind in Kind::ALL {
        let now = app.now();
        let state = queue(&mut db, kind, now).await?;
        due.push((vec![("kind", kind.as_str())], state.due));
        let late = state.next_due.map_or(0, |next| now.since(next).millis().max(0));
        age.push((vec![("kind", kind.as_str())], late));
    }
    Ok([
        Metric { name: "queue_due", help: "Objects that wait for a step now", values: due },
        Metric { name: "queue_oldest_due_milliseconds", help: "How late the oldest due object is", values: age },
    ])
}

async fn fleet(app: &App) -> Result<[Metric; 2]> {
    let mut db = app.store.read().await?;
    let by_state = instances::count_by_state(&mut db).await?;
    let by_state = by_state.into_iter().map(|(state, count)| (vec![("state", state.as_str())], count)).collect();
    let allocated = allocations::count_live(&mut db).await?;
    Ok([
        Metric { name: "instances", help: "Instances by state", values: by_state },
        Metric { name: "devices_allocated", help: "Devices held by instances", values: vec![(vec![], allocated)] },
    ])
}

fn controllers(app: &App) -> [Metric; 4] {
    let counts = app.counts.counts();
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let by_kind = |counted: &std::collections::BTreeMap<&'static str, u64>| {
        counted.iter().map(|(kind, count)| (vec![("kind", *kind)], number(*count))).collect()
    };
    let labels = |kind, state| vec![("kind", kind), ("state", state)];
    let steps = counts.steps.iter().map(|((k, s), (count, _))| (labels(*k, *s), number(*count))).collect();
    let time = counts
        .steps
        .iter()
        .map(|((k, s), (_, took))| (labels(*k, *s), i64::try_from(took.as_micros()).unwrap_or(i64::MAX)));
    [
        Metric { name: "controller_steps", help: "Steps since the server began", values: steps },
        Metric {
            name: "controller_step_microseconds",
            help: "Time spent in steps since the server began",
            values: time.collect(),
        },
        Metric {
            name: "controller_failures",
            help: "Steps that ended in trouble since the server began",
            values: by_kind(&counts.failures),
        },
        Metric {
            name: "controller_lost_leases",
            help: "Results dropped because another server took over",
            values: by_kind(&counts.lost_leases),
        },
    ]
}
