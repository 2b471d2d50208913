//! Buckets that fill with time, one per name, a bounded number of them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Rate;

/// Names that are remembered; beyond that, newcomers share one bucket.
const MOST: usize = 65_536;

/// How often full buckets are looked for when there is no room: looking at all of
/// them for every request would itself be a way to overload the server.
const SWEEP: Duration = Duration::from_secs(1);

/// The bucket of those who found no room; a hash that is equal to it shares it.
const CROWD: u64 = 0;

/// For each name the moment at which its bucket is full again. One that is full
/// says nothing that a missing one does not, so it can be forgotten.
#[derive(Debug)]
pub(super) struct Buckets {
    rate: Rate,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    full_at: HashMap<u64, Instant>,
    swept: Option<Instant>,
}

impl Buckets {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, inner: Mutex::default() }
    }

    /// Takes one; else how long until one can be taken.
    pub(super) fn take(&self, name: u64, now: Instant) -> Result<(), Duration> {
        if self.rate.every.is_zero() {
            return Ok(());
        }
        let inner = &mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let name = inner.room(name, now);
        let full_at = inner.full_at.get(&name).copied().filter(|at| *at > now).unwrap_or(now);
        let lacks = full_at - now;
        let most = self.rate.every.saturating_mul(self.rate.burst.saturating_sub(1));
        if lacks > most {
            return Err(lacks - most);
        }
        inner.full_at.insert(name, full_at + self.rate.every);
        Ok(())
    }

    /// Gives everything back that `name` took.
    pub(super) fn refill(&self, name: u64) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).full_at.remove(&name);
    }
}

impl Inner {
    /// The name under which to count: its own, or the crowd's when there is no room.
    fn room(&mut self, name: u64, now: Instant) -> u64 {
        if self.full_at.len() < MOST || self.full_at.contains_key(&name) {
            return name;
        }
        if self.swept.is_none_or(|at| now.saturating_duration_since(at) >= SWEEP) {
            self.swept = Some(now);
            self.full_at.retain(|_, full_at| *full_at > now);
        }
        if self.full_at.len() < MOST { name } else { CROWD }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTH: Duration = Duration::from_millis(100);

    #[test]
    fn a_burst_then_a_steady_rate_and_the_wait_that_is_told_is_enough_and_needed() {
        let buckets = Buckets::new(Rate { every: TENTH, burst: 3 });
        let start = Instant::now();
        for _ in 0..3 {
            buckets.take(7, start).unwrap();
        }
        let wait = buckets.take(7, start).unwrap_err();
        assert_eq!(wait, TENTH);
        assert!(buckets.take(7, start + wait - Duration::from_nanos(1)).is_err());
        buckets.take(7, start + wait).unwrap();
        assert!(buckets.take(7, start + wait).is_err());
        // Another name is not touched by it, and a long rest brings the burst back, not more.
        buckets.take(8, start).unwrap();
        let rested = start + Duration::from_secs(3600);
        assert_eq!((0..10).filter(|_| buckets.take(7, rested).is_ok()).count(), 3);
    }

    #[test]
    fn giving_back_is_as_if_nothing_was_taken() {
        let buckets = Buckets::new(Rate { every: TENTH, burst: 1 });
        let now = Instant::now();
        buckets.take(1, now).unwrap();
        assert!(buckets.take(1, now).is_err());
        buckets.refill(1);
        buckets.take(1, now).unwrap();
    }

    #[test]
    fn no_limit_remembers_nobody() {
        let buckets = Buckets::new(Rate::NONE);
        let now = Instant::now();
        assert!((0..100_000).all(|name| buckets.take(name, now).is_ok()));
        assert_eq!(buckets.inner.lock().unwrap().full_at.len(), 0);
    }

    #[test]
    fn names_without_end_take_bounded_memory_and_lock_out_nobody_who_was_there() {
        let buckets = Buckets::new(Rate { every: TENTH, burst: 2 });
        let start = Instant::now();
        buckets.take(u64::MAX, start).unwrap();
        let admitted = (1..200_000u64).filter(|name| buckets.take(*name, start).is_ok()).count();
        assert!(buckets.inner.lock().unwrap().full_at.len() <= MOST + 1);
        assert!(admitted <= MOST + 2, "newcomers without room share one bucket: {admitted}");
        buckets.take(u64::MAX, start).unwrap();
        // Once the others' buckets are full again there is room for new names.
        let later = start + SWEEP;
        assert!((300_000..300_100u64).all(|name| buckets.take(name, later).is_ok()));
    }
}
