//! Agent time: the wall clock of one moment plus monotonic time since, so that a
//! step of the wall clock cannot stretch or shrink anything that is billed.

use std::sync::{Mutex, PoisonError};

use base::{Cause, Error, Result, Span, Timestamp};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Ties agent time to the time since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// Agent time at `boot_us`, microseconds since the epoch.
    pub wall_us: i64,
    /// Time since boot, sleep included, microseconds.
    pub boot_us: i64,
}

/// The agent's clock.
#[derive(Debug)]
pub struct Clock {
    anchor: Mutex<Anchor>,
}

fn read_us(clock: ClockId) -> i64 {
    let t = clock_gettime(clock);
    t.tv_sec.saturating_mul(1_000_000).saturating_add(t.tv_nsec / 1_000)
}

/// Wall clock now, microseconds since the epoch.
pub fn wall_us() -> i64 {
    read_us(ClockId::Realtime)
}

/// Time that the machine has spent asleep since boot, microseconds.
pub fn asleep_us() -> i64 {
    read_us(ClockId::Boottime).saturating_sub(read_us(ClockId::Monotonic))
}

/// The kernel's name for this boot of the machine.
///
/// # Errors
/// `host-incomplete` where /proc is missing.
pub fn boot_id() -> Result<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned()).map_err(|e| {
        Error::new(Cause::HostIncomplete, "the boot of this machine cannot be identified")
            .hint("mount /proc")
            .context(e)
    })
}

impl Clock {
    /// A clock that goes on from `anchor`.
    pub fn from_anchor(anchor: Anchor) -> Self {
        Self { anchor: Mutex::new(anchor) }
    }

    /// A clock that agrees with the wall clock now, but never shows a moment
    /// before `not_before`: proven moments must not come twice.
    pub fn start(not_before: Timestamp) -> Self {
        Self::from_anchor(Self::fresh(not_before))
    }

    fn fresh(not_before: Timestamp) -> Anchor {
        Anchor { wall_us: wall_us().max(not_before.micros()), boot_us: read_us(ClockId::Boottime) }
    }

    /// What ties this clock to the time since boot.
    pub fn anchor(&self) -> Anchor {
        *self.anchor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Now, agent time.
    pub fn now(&self) -> Timestamp {
        let anchor = self.anchor();
        Timestamp::from_micros(anchor.wall_us.saturating_add(read_us(ClockId::Boottime) - anchor.boot_us))
    }

    /// How far the wall clock is ahead of agent time.
    pub fn step(&self) -> Span {
        Span::from_micros(wall_us().saturating_sub(self.now().micros()))
    }

    /// Agrees with the wall clock again. Only right while nothing is measured.
    pub fn agree(&self, not_before: Timestamp) {
        *self.anchor.lock().unwrap_or_else(PoisonError::into_inner) = Self::fresh(not_before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stepped_wall_clock_does_not_move_agent_time() {
        let mut anchor = Clock::start(Timestamp::EPOCH).anchor();
        // The wall clock was set forward by an hour after the anchor was taken.
        anchor.wall_us -= 3_600_000_000;
        let clock = Clock::from_anchor(anchor);
        let step = clock.step().secs();
        assert!((3_599..=3_600).contains(&step), "{step}");
        assert!(clock.now() <= clock.now());
        clock.agree(clock.now());
        assert!(clock.step().secs().abs() <= 1);
    }

    #[test]
    fn time_never_goes_back_behind_what_was_proven() {
        let future = Timestamp::from_micros(wall_us() + 60_000_000);
        assert!(Clock::start(future).now() >= future);
    }
}
