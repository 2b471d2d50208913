//! What placement is told of the fleet and of the request.

use base::{DeviceId, NodeId};

/// One device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Id.
    pub id: DeviceId,
    /// Position on the node.
    pub index: i64,
    /// Slug of its GPU model; `None`: unknown, never given out.
    pub gpu: Option<String>,
    /// Whether it works and nobody holds it.
    pub free: bool,
    /// Whether it works.
    pub ok: bool,
    /// Positions of the devices that it has a direct link to.
    pub linked_to: Vec<i64>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Id.
    pub id: NodeId,
    /// Name, for people.
    pub name: String,
    /// Whether it takes new instances: its agent answers and it is not cordoned.
    pub ready: bool,
    /// How it keeps instances apart.
    pub isolation: String,
    /// CPU cores that no instance has.
    pub free_cpus: i64,
    /// Memory that no instance has, MiB.
    pub free_memory_mib: i64,
    /// Its devices.
    pub devices: Vec<Device>,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Slug of the GPU model.
    pub gpu: String,
    /// Devices on one node.
    pub count: i64,
    /// CPU cores.
    pub cpus: i64,
    /// Memory, MiB.
    pub memory_mib: i64,
    /// Wanted isolation; `None`: any.
    pub isolation: Option<String>,
    /// The node that its data are on, if it has any yet.
    pub pinned: Option<NodeId>,
}

/// What a request gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The node.
    pub node: NodeId,
    /// Its devices, by position.
    pub devices: Vec<DeviceId>,
}

impl Node {
    /// Devices of a model that can be given out now, by position.
    pub fn free_of(&self, gpu: &str) -> Vec<&Device> {
        let mut free: Vec<_> = self.devices.iter().filter(|d| d.free && d.gpu.as_deref() == Some(gpu)).collect();
        free.sort_by_key(|d| d.index);
        free
    }

    /// Working devices of a model, free or not.
    pub fn total_of(&self, gpu: &str) -> usize {
        self.devices.iter().filter(|d| d.ok && d.gpu.as_deref() == Some(gpu)).count()
    }
}
