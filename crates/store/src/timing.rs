//! Where the time of the database goes, counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bounds of the sizes of groups that share a commit: the n-th count is of groups
/// of at most that many.
pub const GROUP_SIZES: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// How often something was done, and how long it took together.
#[derive(Debug, Default)]
pub(crate) struct Total {
    count: AtomicU64,
    micros: AtomicU64,
}

impl Total {
    /// One more, begun at `began` and done now.
    pub(crate) fn since(&self, began: Instant) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    fn get(&self) -> (u64, Duration) {
        let micros = self.micros.load(Ordering::Relaxed);
        (self.count.load(Ordering::Relaxed), Duration::from_micros(micros))
    }
}

/// Counts since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Timing {
    /// Writes as their callers see them, from the call to the answer.
    pub(crate) writes: Total,
    /// From the call until the write's own transaction (or its turn in one) begins.
    pub(crate) write_waits: Total,
    /// Commits alone.
    pub(crate) commits: Total,
    /// Waiting for a connection to read with.
    pub(crate) read_waits: Total,
    /// Snapshots, from the call to the answer.
    pub(crate) snapshots: Total,
    group_sizes: [AtomicU64; GROUP_SIZES.len()],
    grouped: AtomicU64,
}

impl Timing {
    /// So many writes shared a commit.
    pub(crate) fn group(&self, size: usize) {
        let at = GROUP_SIZES.iter().position(|bound| size <= *bound).unwrap_or(GROUP_SIZES.len() - 1);
        if let Some(count) = self.group_sizes.get(at) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.grouped.fetch_add(size as u64, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Times {
        Times {
            writes: self.writes.get(),
            write_waits: self.write_waits.get(),
            commits: self.commits.get(),
            read_waits: self.read_waits.get(),
            snapshots: self.snapshots.get(),
            group_sizes: self.group_sizes.each_ref().map(|count| count.load(Ordering::Relaxed)),
            grouped: self.grouped.load(Ordering::Relaxed),
        }
    }
}

/// A copy of the counts: each is how often, and how long together.
#[derive(Clone, Debug)]
pub struct Times {
    /// Writes as their callers see them, from the call to the answer.
    pub writes: (u64, Duration),
    /// From the call until the write's own transaction (or its turn in one) begins.
    pub write_waits: (u64, Duration),
    /// Commits alone.
    pub commits: (u64, Duration),
    /// Waiting for a connection to read with.
    pub read_waits: (u64, Duration),
    /// Snapshots, from the call to the answer.
    pub snapshots: (u64, Duration),
    /// Commits by how many writes shared them; the bounds are [`GROUP_SIZES`]. SQLite only.
    pub group_sizes: [u64; GROUP_SIZES.len()],
    /// Writes in all those groups together.
    pub grouped: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_counted_below_their_bound() {
        let timing = Timing::default();
        for size in [1, 2, 3, 4, 5, 200, 256] {
            timing.group(size);
        }
        let times = timing.get();
        assert_eq!(times.group_sizes, [1, 1, 2, 1, 0, 0, 0, 0, 2]);
        assert_eq!(times.grouped, 471);
    }
}
