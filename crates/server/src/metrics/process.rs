//! What this process counts of itself.

use std::time::Duration;

use store::timing::GROUP_SIZES;

use super::Values;
use crate::observed::{Limit, Open};
use crate::state::App;

pub(super) fn gather(app: &App) -> Vec<Values> {
    let mut values = Vec::from(controllers(app));
    values.extend(database(app));
    values.extend(requests(app));
    values.extend([
        Values::one("connections", app.observed.open(Open::Connections)),
        Values::one("event_readers", app.observed.open(Open::Readers)),
        Values::one("streams", app.observed.open(Open::Streams)),
        Values::by("limited", Limit::ALL.map(|limit| (limit.as_str(), number(app.observed.times_limited(limit))))),
    ]);
    values
}

fn number(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

fn controllers(app: &App) -> [Values; 4] {
    let counts = app.counts.counts();
    let labels = |kind: &str, state: &str| vec![kind.to_owned(), state.to_owned()];
    let steps = counts.steps.iter();
    let steps = steps.map(|((kind, state), (count, took))| (labels(kind, state), number(*count), micros(*took)));
    let steps: Vec<_> = steps.collect();
    let by_kind = |name, counted: &std::collections::BTreeMap<&'static str, u64>| {
        Values::by(name, counted.iter().map(|(kind, count)| (*kind, number(*count))))
    };
    [
        Values {
            name: "controller_steps",
            values: steps.iter().map(|(labels, count, _)| (labels.clone(), *count)).collect(),
        },
        Values {
            name: "controller_step_microseconds",
            values: steps.into_iter().map(|(labels, _, took)| (labels, took)).collect(),
        },
        by_kind("controller_failures", &counts.failures),
        by_kind("controller_lost_leases", &counts.lost_leases),
    ]
}

fn database(app: &App) -> [Values; 4] {
    let times = app.store.times();
    let all = [
        ("write", times.writes),
        ("write-wait", times.write_waits),
        ("commit", times.commits),
        ("read-wait", times.read_waits),
        ("snapshot", times.snapshots),
    ];
    let sizes = GROUP_SIZES.iter().zip(times.group_sizes);
    [
        Values::by("store_operations", all.map(|(what, (count, _))| (what, number(count)))),
        Values::by("store_microseconds", all.map(|(what, (_, took))| (what, micros(took)))),
        Values::by("store_commit_groups", sizes.map(|(size, count)| (size.to_string(), number(count)))),
        Values::one("store_grouped_writes", number(times.grouped)),
    ]
}

fn requests(app: &App) -> [Values; 2] {
    let (mut counts, mut times) = (Vec::new(), Vec::new());
    for ((method, route, status), (count, took)) in app.observed.requests() {
        let labels = vec![method.to_owned(), route, status.to_string()];
        counts.push((labels.clone(), number(count)));
        times.push((labels, micros(took)));
    }
    [Values { name: "http_requests", values: counts }, Values { name: "http_request_microseconds", values: times }]
}
