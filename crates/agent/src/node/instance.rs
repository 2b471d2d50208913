//! One instance as the running agent knows it.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{InstanceId, Timestamp};
use engine::report::Alive;

use crate::cgroup::Usage;
use crate::meta::{Folders, Meta, Phase};
use crate::process::Process;

/// What the sampler found in the last second.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// When, if at all.
    pub at: Option<Timestamp>,
    /// What the groups count.
    pub usage: Usage,
    /// CPU use over the last second, thousandths of one core.
    pub cpu_milli: i64,
    /// Bytes through streams until then.
    pub bytes: u64,
    /// Last activity, if any since ready.
    pub last_active_at: Option<Timestamp>,
    /// What that activity was.
    pub activity: String,
    /// What is measured now, in words.
    pub now: String,
    /// Processes that used CPU in the last second, numbers inside.
    pub busy: Vec<i32>,
}

#[derive(Debug, Default)]
struct State {
    meta: Option<Meta>,
    init: Option<Arc<Process>>,
    measured: Measured,
}

/// One instance. Whoever changes it holds `op`; everybody may look.
#[derive(Debug)]
pub struct Instance {
    /// Its id.
    pub id: InstanceId,
    /// Its folders.
    pub folders: Folders,
    /// Held while something is done to it.
    pub op: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    sessions: AtomicI64,
    bytes: AtomicU64,
}

impl Instance {
    /// An instance of which nothing is known yet.
    pub fn new(id: InstanceId, folders: Folders) -> Self {
        Self {
            id,
            folders,
            op: tokio::sync::Mutex::default(),
            state: Mutex::default(),
            sessions: AtomicI64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known; `None` when the node has nothing of it.
    pub fn meta(&self) -> Option<Meta> {
        self.state().meta.clone()
    }

    /// Replaces what is known, in memory only.
    pub fn set_meta(&self, meta: Option<Meta>) {
        self.state().meta = meta;
    }

    /// The first process, if it is known to have been started.
    pub fn init(&self) -> Option<Arc<Process>> {
        self.state().init.clone()
    }

    /// Sets or forgets the first process.
    pub fn set_init(&self, init: Option<Arc<Process>>) {
        self.state().init = init;
    }

    /// Whether the first process runs.
    pub fn running(&self) -> bool {
        self.init().is_some_and(|init| init.alive())
    }

    /// The last measurement.
    pub fn measured(&self) -> Measured {
        self.state().measured.clone()
    }

    /// Stores a measurement.
    pub fn set_measured(&self, measured: Measured) {
        self.state().measured = measured;
    }

    /// Counts a stream as open until the guard is dropped.
    pub fn session(self: &Arc<Self>) -> Session {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        Session(self.clone())
    }

    /// Open streams.
    pub fn sessions(&self) -> i64 {
        self.sessions.load(Ordering::Relaxed)
    }

    /// Bytes through streams since the agent started.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// As the engine's list shows it.
    pub fn alive(&self) -> Option<Alive> {
        let state = self.state();
        let meta = state.meta.as_ref()?;
        Some(Alive {
            instance: meta.spec.instance.clone(),
            running: matches!(meta.phase, Phase::Starting | Phase::Running | Phase::Stopping)
                && state.init.as_ref().is_some_and(|init| init.alive()),
            ready_at: meta.ready.as_ref().map(|r| r.at),
            devices: if meta.held { meta.spec.devices.clone() } else { Vec::new() },
        })
    }
}

/// One open stream.
#[derive(Debug)]
pub struct Session(Arc<Instance>);

impl Session {
    /// Counts bytes that went through.
    pub fn count(&self, bytes: usize) {
        self.0.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}
