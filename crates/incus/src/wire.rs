//! What Incus says and is told, as far as it concerns us. Fields that are not named
//! here are ignored when reading and never sent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::operation::nothing_is_empty;

/// Configuration: name and value.
pub type Settings = BTreeMap<String, String>;
/// Devices: name, and their settings.
pub type Devices = BTreeMap<String, Settings>;

/// The server itself.
#[derive(Clone, Debug, Deserialize)]
pub struct Server {
    /// Names of the extensions of the API that it has.
    #[serde(default)]
    pub api_extensions: Vec<String>,
    /// `trusted` or `untrusted`.
    #[serde(default)]
    pub auth: String,
    /// Settings of the server.
    #[serde(default, deserialize_with = "nothing_is_empty")]
    pub config: Settings,
    /// The rest.
    #[serde(default)]
    pub environment: Environment,
}

/// Where and what the server is.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Environment {
    /// Version of Incus.
    #[serde(default)]
    pub server_version: String,
    /// Name of the member that answered, in a cluster.
    #[serde(default)]
    pub server_name: String,
    /// Whether it is one of a cluster.
    #[serde(default)]
    pub server_clustered: bool,
    /// Kernel.
    #[serde(default)]
    pub kernel_version: String,
    /// Drivers of instances, ` | ` between them: `lxc | qemu`.
    #[serde(default)]
    pub driver: String,
    /// PEM text of the certificate that its HTTPS address shows.
    #[serde(default)]
    pub certificate: String,
}

impl Server {
    /// Whether it has an extension of the API.
    pub fn can(&self, extension: &str) -> bool {
        self.api_extensions.iter().any(|name| name == extension)
    }

    /// Whether virtual machines can run there.
    pub fn runs_machines(&self) -> bool {
        self.environment.driver.split('|').any(|driver| driver.trim() == "qemu")
    }
}

/// One member of a cluster.
#[derive(Clone, Debug, Deserialize)]
pub struct Member {
    /// Its name, which is also the target of requests.
    pub server_name: String,
    /// `https://ADDRESS:PORT`.
    #[serde(default)]
    pub url: String,
    /// `Online`, `Offline`, `Evacuated` …
    #[serde(default)]
    pub status: String,
    /// In words.
    #[serde(default)]
    pub message: String,
}

/// An instance to be made.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NewInstance {
    /// Its name: letters, digits and hyphens, at most 63.
    pub name: String,
    /// `container` or `virtual-machine`.
    #[serde(rename = "type")]
    pub kind: String,
    /// From where, as Incus describes a source.
    pub source: serde_json::Value,
    /// Settings.
    pub config: Settings,
    /// Devices.
    pub devices: Devices,
    /// Profiles; none of them means exactly what is said here.
    pub profiles: Vec<String>,
}

/// Change of an instance: what is there is replaced.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Update {
    /// Settings.
    pub config: Settings,
    /// Devices.
    pub devices: Devices,
    /// Profiles.
    pub profiles: Vec<String>,
}

/// `Running`, `Stopped` …, as a number that keeps its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Default)]
#[serde(transparent)]
pub struct Status(pub i64);

impl Status {
    /// At rest.
    pub const STOPPED: Self = Self(102);
    /// Running, the first process included.
    pub const RUNNING: Self = Self(103);
    /// Its member does not answer.
    pub const ERROR: Self = Self(112);
}

/// One instance.
#[derive(Clone, Debug, Deserialize)]
pub struct Instance {
    /// Its name.
    pub name: String,
    /// What it is doing.
    #[serde(default)]
    pub status_code: Status,
    /// Member that it is on; `none` without a cluster.
    #[serde(default)]
    pub location: String,
    /// `container` or `virtual-machine`.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// Of its programs, as the kernel names it: `x86_64`.
    #[serde(default)]
    pub architecture: String,
    /// Its own settings.
    #[serde(default, deserialize_with = "nothing_is_empty")]
    pub config: Settings,
    /// Its own devices.
    #[serde(default, deserialize_with = "nothing_is_empty")]
    pub devices: Devices,
    /// Devices, those of its profiles included.
    #[serde(default, deserialize_with = "nothing_is_empty")]
    pub expanded_devices: Devices,
}

impl Instance {
    /// Host number of user 0 inside, once Incus has decided.
    pub fn root_user(&self) -> Option<u32> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Range {
            isuid: bool,
            hostid: u32,
            nsid: u32,
        }
        let text = self.config.get("volatile.idmap.next").or_else(|| self.config.get("volatile.idmap.current"))?;
        let ranges: Vec<Range> = serde_json::from_str(text).ok()?;
        ranges.iter().find(|r| r.isuid && r.nsid == 0).map(|r| r.hostid)
    }
}

/// What an instance uses now.
#[derive(Clone, Debug, Deserialize)]
pub struct InstanceState {
    /// What it is doing.
    #[serde(default)]
    pub status_code: Status,
    /// Host number of its first process; 0 when there is none.
    #[serde(default)]
    pub pid: i64,
    /// Processes.
    #[serde(default)]
    pub processes: i64,
    /// Disks by device name.
    #[serde(default, deserialize_with = "nothing_is_empty")]
    pub disk: BTreeMap<String, Space>,
    /// CPU.
    #[serde(default)]
    pub cpu: Cpu,
    /// Memory.
    #[serde(default)]
    pub memory: Memory,
}

/// Bytes, used and in all; 0 where it is not known.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Space {
    /// Used.
    #[serde(default)]
    pub usage: i64,
    /// In all.
    #[serde(default)]
    pub total: i64,
}

/// Nanoseconds since the start.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Cpu {
    /// Used.
    #[serde(default)]
    pub usage: i64,
}

/// Bytes.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Memory {
    /// Used.
    #[serde(default)]
    pub usage: i64,
    /// Limit.
    #[serde(default)]
    pub total: i64,
}

/// A storage pool.
#[derive(Clone, Debug, Deserialize)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// `btrfs`, `zfs`, `dir`, `ceph` …
    pub driver: String,
}

impl Pool {
    /// Whether a promise of disk space is kept by the pool itself.
    pub fn limits_disks(&self) -> bool {
        self.driver != "dir"
    }
}

/// Space of a pool on one member.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct PoolResources {
    /// Bytes.
    #[serde(default)]
    pub space: Capacity,
}

/// Bytes, used and in all.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Capacity {
    /// Used.
    #[serde(default)]
    pub used: i64,
    /// In all.
    #[serde(default)]
    pub total: i64,
}

/// Hardware of one member, as Incus sees it.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Resources {
    /// Processors.
    #[serde(default)]
    pub cpu: CpuResources,
    /// Memory.
    #[serde(default)]
    pub memory: Capacity,
}

/// Processors.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct CpuResources {
    /// Threads in all.
    #[serde(default)]
    pub total: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_of_an_isolated_instance_is_read() {
        let mut instance: Instance = serde_json::from_str(r#"{"name":"a","config":null,"devices":null}"#).unwrap();
        assert_eq!(instance.root_user(), None);
        let map = r#"[{"Isuid":false,"Isgid":true,"Hostid":7,"Nsid":0,"Maprange":65536},
                      {"Isuid":true,"Isgid":false,"Hostid":1065536,"Nsid":0,"Maprange":65536}]"#;
        instance.config.insert("volatile.idmap.next".into(), map.into());
        assert_eq!(instance.root_user(), Some(1_065_536));
    }
}
