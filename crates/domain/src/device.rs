//! Devices as facts and samples, as the agent reports them.

use base::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a device is. Changes only when hardware or driver changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceFacts {
    /// The vendor's own globally unique name (NVML UUID).
    pub uuid: String,
    /// The name that the vendor's library gives, unchanged.
    pub name: String,
    /// Serial number of the board, where the vendor tells it.
    pub serial: Option<String>,
    /// Device memory in MiB as the vendor's library reports it.
    pub memory_mib: i64,
    /// PCI address, `0000:01:00.0`.
    pub pci: String,
    /// NUMA node, where known.
    pub numa: Option<i64>,
    /// Position in the vendor's own order.
    pub index: i64,
    /// Device nodes that an instance needs to use it.
    pub paths: Vec<String>,
    /// Direct links to other devices of the node.
    pub links: Vec<DeviceLink>,
    /// Enforced power limit in watts, where known.
    pub power_limit_w: Option<i64>,
    /// Driver version, where known.
    pub driver: Option<String>,
    /// Whether this is not a real card. Shown wherever a person sees it.
    pub fake: bool,
}

/// A direct link between two devices of one node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct DeviceLink {
    /// UUID of the other device.
    pub peer: String,
    /// How many NVLink lanes connect the two.
    pub nvlinks: i64,
}

/// How a device does at one moment. `None` means the vendor's library does not tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceSample {
    /// UUID of the device.
    pub uuid: String,
    /// When it was read.
    pub at: Timestamp,
    /// Share of time in which any kernel ran, percent.
    pub gpu_util_pct: Option<i64>,
    /// Memory in use, MiB.
    pub memory_used_mib: Option<i64>,
    /// Power draw, milliwatts.
    pub power_mw: Option<i64>,
    /// SM clock, MHz.
    pub sm_clock_mhz: Option<i64>,
    /// Core temperature, °C.
    pub temperature_c: Option<i64>,
    /// Whether the device no longer answers.
    pub lost: bool,
}
