//! The engine of each node, and what its devices last said.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use base::{Cause, Error, NodeId, Result};
use domain::device::DeviceSample;

/// Which engine speaks for which node.
pub struct Engines<E> {
    by_node: RwLock<BTreeMap<NodeId, Arc<E>>>,
    samples: RwLock<HashMap<String, DeviceSample>>,
}

impl<E> Default for Engines<E> {
    fn default() -> Self {
        Self { by_node: RwLock::default(), samples: RwLock::default() }
    }
}

impl<E> Engines<E> {
    /// Makes an engine known.
    pub fn set(&self, node: NodeId, engine: Arc<E>) {
        self.by_node.write().unwrap_or_else(PoisonError::into_inner).insert(node, engine);
    }

    /// The engine of a node.
    ///
    /// # Errors
    /// `unavailable` when none is connected.
    pub fn of(&self, node: &NodeId) -> Result<Arc<E>> {
        let engines = self.by_node.read().unwrap_or_else(PoisonError::into_inner);
        engines.get(node).cloned().ok_or_else(|| {
            Error::new(Cause::Unavailable, "the machine of this instance is out of reach now")
                .hint("it is tried again by itself; `suanli node ls` shows the machine")
        })
    }

    /// Keeps the latest samples of a node's devices.
    pub fn keep_samples(&self, samples: Vec<DeviceSample>) {
        let mut kept = self.samples.write().unwrap_or_else(PoisonError::into_inner);
        kept.extend(samples.into_iter().map(|s| (s.uuid.clone(), s)));
    }

    /// The latest sample of a device.
    pub fn sample(&self, uuid: &str) -> Option<DeviceSample> {
        self.samples.read().unwrap_or_else(PoisonError::into_inner).get(uuid).cloned()
    }
}
