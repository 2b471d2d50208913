//! Every metric there is. `docs/operate.md` has the same list; a test compares them.

/// What every name begins with.
pub const PREFIX: &str = "suanli";

/// How a value moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Up and down.
    Gauge,
    /// Only up, from zero when the server begins; its name on the wire ends in `_total`.
    Counter,
}

/// What a metric means.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// Name, without prefix and suffix.
    pub name: &'static str,
    /// How it moves.
    pub kind: Kind,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// In a sentence.
    pub help: &'static str,
}

impl Described {
    /// The name as Prometheus sees it.
    pub fn wire_name(&self) -> String {
        let suffix = if self.kind == Kind::Counter { "_total" } else { "" };
        format!("{PREFIX}_{}{suffix}", self.name)
    }
}

const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Described {
    Described { name, kind: Kind::Gauge, labels, help }
}

const fn counter(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Described {
    Described { name, kind: Kind::Counter, labels, help }
}

/// All of them, in the order in which they are told. None has a label whose values
/// grow with instances, accounts or callers.
pub const ALL: &[Described] = &[
    gauge("queue_due", &["kind"], "Objects that wait for a step now"),
    gauge("queue_oldest_due_milliseconds", &["kind"], "How late the oldest due object is"),
    gauge("instances", &["state"], "Instances by state"),
    gauge("instances_late", &["state"], "Instances that have missed the deadline of their state"),
    gauge("instances_late_untold", &[], "Those of them for which no incident was opened"),
    gauge("devices_allocated", &[], "Devices held by instances"),
    gauge("incidents_open", &["kind"], "Open incidents by kind"),
    gauge("events_unsequenced", &[], "Events that wait for their place in the stream"),
    gauge("events_unsequenced_oldest_milliseconds", &[], "How long the oldest of them has waited"),
    counter("controller_steps", &["kind", "state"], "Steps of the controllers"),
    counter("controller_step_microseconds", &["kind", "state"], "Time spent in steps"),
    counter("controller_failures", &["kind"], "Steps that ended in trouble"),
    counter("controller_lost_leases", &["kind"], "Results dropped because another server took over"),
    counter("store_operations", &["what"], "What was asked of the database"),
    counter("store_microseconds", &["what"], "Time spent in it"),
    counter("store_commit_groups", &["size"], "SQLite commits by how many writes shared them, at most that many"),
    counter("store_grouped_writes", &[], "Writes in all those commits together"),
    counter("http_requests", &["method", "route", "status"], "Requests by pattern of their path"),
    counter("http_request_microseconds", &["method", "route", "status"], "Time until the head of their answer"),
    gauge("connections", &[], "Open connections"),
    gauge("event_readers", &[], "Open readers of /v1/events"),
    gauge("streams", &[], "Open streams into instances"),
    counter("limited", &["limit"], "Requests and connections refused or ended by a limit"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_none_counts_by_instance() {
        for (i, metric) in ALL.iter().enumerate() {
            assert!(ALL[..i].iter().all(|m| m.name != metric.name), "{} twice", metric.name);
            let few = ["kind", "state", "what", "size", "method", "route", "status", "limit"];
            assert!(metric.labels.iter().all(|label| few.contains(label)), "{}", metric.name);
        }
    }
}
