//! NVIDIA cards through NVIDIA's management library.

mod facts;
mod load;
mod sample;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

use base::Timestamp;
use domain::device::{DeviceFacts, DeviceSample};

/// NVIDIA's management library, loaded and initialised.
///
/// It remembers every card it ever saw, because a card that falls off the bus no
/// longer tells who it was. Calls block for some milliseconds; from async code use
/// a blocking thread.
pub struct Nvml {
    lib: nvml_wrapper::Nvml,
    known: Mutex<Vec<DeviceFacts>>,
}

impl Nvml {
    /// The cards in the library's order, lost ones included when they were seen
    /// before.
    ///
    /// # Errors
    /// `host-incomplete` when the library does not even say how many there are.
    pub fn facts(&self) -> base::Result<Vec<DeviceFacts>> {
        let mut facts = facts::read(&self.lib)?;
        let mut known = self.known();
        // Two cards cannot swap names, so what is missing was lost, not renamed.
        facts.extend(
            known.iter().filter(|old| facts.iter().all(|new| new.uuid != old.uuid)).cloned().collect::<Vec<_>>(),
        );
        facts.sort_by(|a, b| (a.index, &a.uuid).cmp(&(b.index, &b.uuid)));
        known.clone_from(&facts);
        Ok(facts)
    }

    /// How each card does, in the library's order. `at` is the time to write down.
    ///
    /// A card that does not answer is `lost` with no readings, and never hides
    /// its neighbours. A library that stopped answering at all loses every card.
    pub fn sample(&self, at: Timestamp) -> Vec<DeviceSample> {
        sample::read(&self.lib, &self.known(), at)
    }

    fn known(&self) -> MutexGuard<'_, Vec<DeviceFacts>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
