//! How much of a machine an instance gets: defaults and limits.

use base::{Cause, Error, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Most cards in one instance on one node.
pub const MAX_COUNT: i64 = 64;
/// Most CPU cores of one instance.
pub const MAX_CPUS: i64 = 1_024;
/// Least memory of one instance, GiB.
pub const MIN_MEMORY_GIB: i64 = 1;
/// Most memory of one instance, GiB.
pub const MAX_MEMORY_GIB: i64 = 65_536;
/// Least disk of one instance, GiB.
pub const MIN_DISK_GIB: i64 = 1;
/// Most disk of one instance, GiB.
pub const MAX_DISK_GIB: i64 = 1_048_576;

/// CPU cores, memory and disk of an instance, or what one card brings with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Whole CPU cores.
    pub cpus: i64,
    /// Memory, GiB.
    pub memory_gib: i64,
    /// System disk, GiB.
    pub disk_gib: i64,
}

impl Resources {
    /// What one card brings when the price book does not say.
    pub const PER_DEVICE: Self = Self { cpus: 4, memory_gib: 16, disk_gib: 50 };

    /// What an instance without a card gets, to reach the data.
    pub const WITHOUT_CARD: Self = Self { cpus: 1, memory_gib: 2, disk_gib: 50 };

    /// What `count` times this is, kept within the limits: a default must not be
    /// refused as if the renter had asked for it.
    #[must_use]
    pub fn times(self, count: i64) -> Self {
        let many = |n: i64, least: i64, most: i64| n.saturating_mul(count).clamp(least, most);
        Self {
            cpus: many(self.cpus, 1, MAX_CPUS),
            memory_gib: many(self.memory_gib, MIN_MEMORY_GIB, MAX_MEMORY_GIB),
            disk_gib: many(self.disk_gib, MIN_DISK_GIB, MAX_DISK_GIB),
        }
    }

    /// This with what the renter asked for in place of the defaults.
    ///
    /// # Errors
    /// `invalid-request` naming the resource and its limits.
    pub fn with(self, cpus: Option<i64>, memory_gib: Option<i64>, disk_gib: Option<i64>) -> Result<Self> {
        Self {
            cpus: cpus.unwrap_or(self.cpus),
            memory_gib: memory_gib.unwrap_or(self.memory_gib),
            disk_gib: disk_gib.unwrap_or(self.disk_gib),
        }
        .checked()
    }

    /// The same, if it lies within the limits.
    ///
    /// # Errors
    /// `invalid-request` naming the resource and its limits.
    pub fn checked(self) -> Result<Self> {
        let check = |what: &str, unit: &str, n: i64, least: i64, most: i64| {
            if (least..=most).contains(&n) {
                return Ok(());
            }
            Err(Error::new(Cause::InvalidRequest, format!("{n}{unit} is not a possible amount of {what}"))
                .hint(format!("choose between {least} and {most}{unit}")))
        };
        check("CPU cores", "", self.cpus, 1, MAX_CPUS)?;
        check("memory", " GiB", self.memory_gib, MIN_MEMORY_GIB, MAX_MEMORY_GIB)?;
        check("disk", " GiB", self.disk_gib, MIN_DISK_GIB, MAX_DISK_GIB)?;
        Ok(self)
    }

    /// Most processes and threads of an instance with this many cores: enough for
    /// data loaders and compilers, little enough that a fork bomb stays inside.
    pub fn max_processes(self) -> i64 {
        self.cpus.saturating_mul(1_024).clamp(4_096, 65_536)
    }
}

/// The count, if that many cards can be asked for.
///
/// # Errors
/// `invalid-count` below one, `more-than-exist` above [`MAX_COUNT`].
pub fn check_count(count: i64) -> Result<i64> {
    match count {
        ..1 => Err(Error::new(Cause::InvalidCount, format!("{count} is not a number of cards"))
            .hint("ask for one card or more")),
        1..=MAX_COUNT => Ok(count),
        _ => Err(Error::new(Cause::MoreThanExist, format!("no node has {count} cards"))
            .hint(format!("ask for at most {MAX_COUNT} cards in one instance"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn asked_amounts_replace_defaults() {
        let r = Resources::PER_DEVICE.times(2).with(Some(3), None, Some(200)).unwrap();
        assert_eq!(r, Resources { cpus: 3, memory_gib: 32, disk_gib: 200 });
        assert_eq!(r.max_processes(), 4_096);
        let error = Resources::PER_DEVICE.with(Some(0), None, None).unwrap_err();
        assert_eq!(error.cause(), Cause::InvalidRequest);
        assert_eq!(error.hint_text(), Some("choose between 1 and 1024"));
    }

    #[test]
    fn counts_below_one_and_absurd_counts_are_told_apart() {
        assert_eq!(check_count(8).unwrap(), 8);
        assert_eq!(check_count(0).unwrap_err().cause(), Cause::InvalidCount);
        assert_eq!(check_count(i64::MIN).unwrap_err().cause(), Cause::InvalidCount);
        assert_eq!(check_count(MAX_COUNT + 1).unwrap_err().cause(), Cause::MoreThanExist);
    }

    proptest! {
        #[test]
        fn no_amount_overflows(a in any::<i64>(), b in any::<i64>(), c in any::<i64>(), n in any::<i64>()) {
            let r = Resources { cpus: a, memory_gib: b, disk_gib: c };
            prop_assert!(r.times(n).checked().is_ok());
            prop_assert!((4_096..=65_536).contains(&r.max_processes()));
        }
    }
}
