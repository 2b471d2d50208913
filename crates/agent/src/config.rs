//! What the agent is told at start.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;

use base::{Cause, Error, Result};
use serde::{Deserialize, Serialize};

/// How the agent should run. Everything has a sensible default but the two paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// Folder for instances, evidence and helpers. Made if missing.
    pub state_dir: PathBuf,
    /// Unix socket to answer on. A stale one is replaced.
    pub socket: PathBuf,
    /// User and group that own the socket and may connect besides root; the
    /// agent's own user when absent.
    #[serde(default)]
    pub socket_owner: Option<(u32, u32)>,
    /// NVML library to load instead of the one that the system finds.
    #[serde(default)]
    pub nvml_lib: Option<PathBuf>,
    /// Fake cards instead of real ones: path of a profile, or a built-in name.
    #[serde(default)]
    pub fake_profile: Option<String>,
    /// Name of the node; the host name when absent.
    #[serde(default)]
    pub name: Option<String>,
    /// First host user id handed to instances; each one gets its own.
    #[serde(default = "default_uid_base")]
    pub uid_base: u32,
    /// Network of the instances.
    #[serde(default)]
    pub network: NetworkConfig,
    /// Whether instances may run as plain processes where the host cannot isolate them.
    #[serde(default)]
    pub allow_no_isolation: bool,
    /// What runs the instances.
    #[serde(default)]
    pub engine: EngineConfig,
}

/// What runs the instances of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineConfig {
    /// Built in: bubblewrap and control groups.
    #[default]
    Sandbox,
    /// The Incus of this machine.
    Incus(IncusConfig),
}

/// Which Incus, and what of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IncusConfig {
    /// Its Unix socket.
    pub socket: PathBuf,
    /// Project that holds all instances of the zone, and nothing else.
    pub project: String,
    /// Storage pool of root disks.
    pub pool: String,
    /// Managed bridge that instances are on.
    pub network: String,
    /// Alias or fingerprint of the image of instances that ask for none.
    pub image: String,
}

impl IncusConfig {
    /// The Incus at a socket, with the names that it comes with.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self {
            socket: socket.into(),
            project: "suanli".into(),
            pool: "default".into(),
            network: "incusbr0".into(),
            image: "debian".into(),
        }
    }
}

const fn default_uid_base() -> u32 {
    600_000
}

impl AgentConfig {
    /// A configuration with defaults for everything but the paths.
    pub fn new(state_dir: impl Into<PathBuf>, socket: impl Into<PathBuf>) -> Self {
        Self {
            state_dir: state_dir.into(),
            socket: socket.into(),
            socket_owner: None,
            nvml_lib: None,
            fake_profile: None,
            name: None,
            uid_base: default_uid_base(),
            network: NetworkConfig::default(),
            allow_no_isolation: false,
            engine: EngineConfig::default(),
        }
    }
}

/// Network of the instances of one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkConfig {
    /// Addresses to hand out, four for every instance.
    #[serde(default = "default_subnet")]
    pub subnet: Cidr,
    /// Whether instances reach the outside.
    #[serde(default)]
    pub mode: NetworkMode,
    /// Networks of the operator that no instance may reach.
    #[serde(default)]
    pub blocked: Vec<Cidr>,
}

const fn default_subnet() -> Cidr {
    Cidr { address: Ipv4Addr::new(10, 231, 0, 0), prefix: 16 }
}

impl Default for NetworkConfig {
    fn default() -> Self {
        Self { subnet: default_subnet(), mode: NetworkMode::default(), blocked: Vec::new() }
    }
}

/// Whether instances reach the outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkMode {
    /// Outbound through the node's own address; switches IPv4 forwarding on.
    #[default]
    Nat,
    /// No packet leaves the instance.
    Closed,
}

/// An IPv4 network, `10.231.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cidr {
    address: Ipv4Addr,
    prefix: u8,
}

impl Cidr {
    /// How many networks of four addresses fit.
    pub fn blocks(self) -> u32 {
        1u32.checked_shl(30u32.saturating_sub(u32::from(self.prefix))).unwrap_or(0)
    }

    /// First address of the `index`-th network of four addresses, or `None` past the end.
    pub fn block(self, index: u32) -> Option<Ipv4Addr> {
        (index < self.blocks()).then(|| Ipv4Addr::from(u32::from(self.address) + index * 4))
    }
}

impl FromStr for Cidr {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let bad = |why: &str| {
            Error::new(Cause::InvalidRequest, format!("`{}` is not an IPv4 network: {why}", text.escape_debug()))
                .hint("write it like 10.231.0.0/16")
        };
        let (address, prefix) = text.split_once('/').ok_or_else(|| bad("the prefix length is missing"))?;
        let address: Ipv4Addr = address.parse().map_err(|_| bad("the address is not understood"))?;
        let prefix: u8 = prefix.parse().map_err(|_| bad("the prefix length is not a number"))?;
        if prefix > 30 {
            return Err(bad("it must have room for four addresses"));
        }
        let host_bits = u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
        if u32::from(address) & host_bits != 0 {
            return Err(bad("the address has bits beyond the prefix"));
        }
        Ok(Self { address, prefix })
    }
}

impl TryFrom<String> for Cidr {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Cidr> for String {
    fn from(cidr: Cidr) -> Self {
        cidr.to_string()
    }
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_cut_into_fours() {
        let net: Cidr = "10.231.0.0/16".parse().unwrap();
        assert_eq!(net.blocks(), 16_384);
        assert_eq!(net.block(1), Some(Ipv4Addr::new(10, 231, 0, 4)));
        assert_eq!(net.block(16_383), Some(Ipv4Addr::new(10, 231, 255, 252)));
        assert_eq!(net.block(16_384), None);
    }

    #[test]
    fn wrong_networks_are_refused() {
        for bad in ["10.0.0.0", "10.0.0.1/16", "10.0.0.0/31", "10.0.0.0/x", "fe80::/10", ""] {
            assert_eq!(bad.parse::<Cidr>().unwrap_err().cause(), Cause::InvalidRequest, "{bad}");
        }
        assert!("0.0.0.0/0".parse::<Cidr>().is_ok());
    }
}
