//! What an instance should be, and what became of it.

use std::collections::BTreeMap;

use base::{InstanceId, Slug, Span, Timestamp};
use domain::device::DeviceSample;
use serde::{Deserialize, Serialize};

/// Names one generation of one instance. An engine that knows a higher
/// generation refuses the call with `stale-generation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceRef {
    /// The instance.
    pub id: InstanceId,
    /// Its public name.
    pub slug: Slug,
    /// Counts placements: every start is a new generation.
    pub generation: i64,
}

/// Everything an engine needs to make one generation of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceSpec {
    /// Which instance and generation.
    pub instance: InstanceRef,
    /// UUIDs of the devices that it holds; empty for a card-less start.
    pub devices: Vec<String>,
    /// Whole CPU cores that it may use.
    pub cpus: i64,
    /// Memory limit, MiB.
    pub memory_mib: i64,
    /// Disk space that it was promised, MiB.
    pub disk_mib: i64,
    /// Most processes and threads.
    pub max_processes: i64,
    /// Environment of everything started inside.
    pub env: BTreeMap<String, String>,
    /// Shell command started once after ready; its end is reported as `command_exit`.
    pub on_start: Option<String>,
    /// Secret with which what runs inside asks the server about its own instance. It
    /// is a file there that only the renter's user reads, never a variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Proof that an instance can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// When it was proven.
    pub at: Timestamp,
    /// Sentences that the renter should see, such as a limit that this host cannot set.
    pub notices: Vec<String>,
    /// What the proof consisted of, for `bill --explain`.
    pub evidence: String,
}

/// The end of a generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// When its last process was gone.
    pub at: Timestamp,
}

/// Use of one instance at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// When it was read.
    pub at: Timestamp,
    /// CPU time used since start.
    pub cpu_used: Span,
    /// CPU use over the last seconds, thousandths of one core.
    pub cpu_milli: i64,
    /// Memory in use, MiB.
    pub memory_used_mib: i64,
    /// Processes and threads.
    pub processes: i64,
    /// Open exec, terminal and dial streams.
    pub sessions: i64,
    /// The last moment at which something went on: a card or CPU above the idle
    /// threshold, or bytes through a session. Never older than ready.
    pub last_active_at: Timestamp,
    /// What the activity at `last_active_at` was, and what is measured now, for people.
    pub activity: String,
    /// Its cards.
    pub devices: Vec<DeviceSample>,
}
