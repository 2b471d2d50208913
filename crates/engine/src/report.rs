//! What a node says of itself: inventory and proofs of life.

use base::{Cause, InstanceId, Timestamp};
use domain::device::{DeviceFacts, DeviceSample};
use serde::{Deserialize, Serialize};

use crate::spec::InstanceRef;

/// What the node is and has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// Host name, or the name that the operator gave.
    pub name: String,
    /// Version of the agent.
    pub agent_version: String,
    /// Changes with every boot of the machine.
    pub boot_id: String,
    /// CPU cores.
    pub cpus: i64,
    /// Memory, MiB.
    pub memory_mib: i64,
    /// Free space where instances live, MiB.
    pub disk_free_mib: i64,
    /// `container`, `vm`, `node`, or `none` where the host cannot isolate.
    pub isolation: String,
    /// What this host cannot do, in sentences for people (a limit that cannot be
    /// set, a missing package and its name). Empty when all is well.
    pub notices: Vec<String>,
    /// The devices, in the vendor's order.
    pub devices: Vec<DeviceFacts>,
    /// Grows whenever `devices` changes.
    pub inventory_version: i64,
}

/// A stretch during which the agent, or the kernel on its behalf, watched every
/// instance of the node without a hole: `[from, to]`, agent time (wall clock of
/// agent start plus monotonic time since, so a clock step cannot stretch it).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// First proven moment.
    pub from: Timestamp,
    /// Last proven moment.
    pub to: Timestamp,
}

/// One instance that the engine has something of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alive {
    /// Which, and which generation.
    pub instance: InstanceRef,
    /// Whether its first process runs.
    pub running: bool,
    /// When this generation was proven ready, if it was.
    pub ready_at: Option<Timestamp>,
    /// UUIDs of the devices it holds.
    pub devices: Vec<String>,
}

/// A generation whose first process ended without being asked to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Which instance.
    pub id: InstanceId,
    /// Which generation.
    pub generation: i64,
    /// The last moment at which it was proven alive.
    pub at: Timestamp,
    /// `init-died`, or `node-lost` when the machine itself went down.
    pub cause: Cause,
    /// For people.
    pub detail: String,
}

/// Exit of an instance's `on_start` command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandExit {
    /// Which instance.
    pub id: InstanceId,
    /// Which generation.
    pub generation: i64,
    /// When it ended.
    pub at: Timestamp,
    /// Its exit status; 128 + signal when a signal ended it.
    pub code: i64,
}

/// All that a node can prove after a given moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeReport {
    /// Boot in which the last proof lies.
    pub boot_id: String,
    /// Now, agent time.
    pub now: Timestamp,
    /// Proven stretches after the requested moment, oldest first, not overlapping.
    /// A hole between two of them was seen by nobody and cannot be billed.
    pub proofs: Vec<Proof>,
    /// Generations that ended by themselves at or after the requested moment.
    pub ended: Vec<Ended>,
    /// `on_start` commands that ended at or after the requested moment.
    pub command_exits: Vec<CommandExit>,
    /// Every instance that the engine has something of.
    pub alive: Vec<Alive>,
    /// Latest sample of every device.
    pub samples: Vec<DeviceSample>,
    /// See [`NodeInfo::inventory_version`].
    pub inventory_version: i64,
    /// How far the wall clock has moved away from agent time, microseconds.
    pub clock_step_us: i64,
}
