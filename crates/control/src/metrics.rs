//! Counters of the controllers. Never by instance: that grows without bound.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Counts since the process began.
#[derive(Debug, Default)]
pub struct Metrics {
    inner: Mutex<Counts>,
}

/// A copy of the counts.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Steps by kind of object and state: how many, and how long they took together.
    pub steps: BTreeMap<(&'static str, &'static str), (u64, Duration)>,
    /// Steps that ended in trouble, by kind of object.
    pub failures: BTreeMap<&'static str, u64>,
    /// Results that were dropped because somebody had taken over, by kind of object.
    pub lost_leases: BTreeMap<&'static str, u64>,
}

impl Metrics {
    fn with(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A step ended.
    pub fn step(&self, kind: &'static str, state: &'static str, took: Duration) {
        self.with(|c| {
            let entry = c.steps.entry((kind, state)).or_default();
            entry.0 += 1;
            entry.1 += took;
        });
    }

    /// A step could not do its work.
    pub fn failure(&self, kind: &'static str) {
        self.with(|c| *c.failures.entry(kind).or_default() += 1);
    }

    /// A result was dropped.
    pub fn lost_lease(&self, kind: &'static str) {
        self.with(|c| *c.lost_leases.entry(kind).or_default() += 1);
    }

    /// The counts now.
    pub fn counts(&self) -> Counts {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
