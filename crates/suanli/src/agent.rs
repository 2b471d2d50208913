//! `suanli agent`: the privileged process of a node.

use std::path::PathBuf;

use agent::AgentConfig;
use base::{Cause, Error, Result};
use clap::Args;

use crate::cli::Outcome;
use crate::serve::engine::EngineFlags;
use crate::serve::signal::ended;

/// Run this machine's agent: devices, sandbox, evidence. The only process that needs root
///
/// `suanli serve` starts one by itself; by hand it is needed only where a service
/// manager should keep the two apart.
#[derive(Debug, Args)]
pub struct Agent {
    /// Unix socket to answer on
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// Folder for instances and evidence
    #[arg(long, value_name = "DIR", default_value = "/var/lib/suanli/agent")]
    state: PathBuf,
    /// User and group ids of the server that may connect, besides root
    #[arg(long, value_name = "UID:GID", value_parser = owner)]
    owner: Option<(u32, u32)>,
    /// Fake cards instead of real ones: a profile file or the name of a built-in one
    #[arg(long, value_name = "PROFILE")]
    fake_gpus: Option<String>,
    /// NVML library to load instead of the system's
    #[arg(long, value_name = "PATH")]
    nvml_lib: Option<PathBuf>,
    /// Name of this node; default is the host name
    #[arg(long)]
    name: Option<String>,
    /// Whether instances reach the outside
    #[arg(long, value_name = "nat|closed", default_value = "nat")]
    network: String,
    /// Network of yours that no instance may reach; may be given several times
    #[arg(long, value_name = "CIDR")]
    block: Vec<String>,
    /// First user id for instances; a second agent on one machine needs another range [default: 600000]
    #[arg(long, value_name = "UID", value_parser = clap::value_parser!(u32).range(1_000..2_000_000_000))]
    first_user: Option<u32>,
    /// Addresses for instances; a second agent on one machine needs others [default: 10.231.0.0/16]
    #[arg(long, value_name = "CIDR")]
    subnet: Option<String>,
    /// Run instances as plain processes where this host cannot isolate them
    #[arg(long)]
    allow_no_isolation: bool,
    #[command(flatten)]
    engine: EngineFlags,
}

fn owner(text: &str) -> Result<(u32, u32), String> {
    let (uid, gid) = text.split_once(':').ok_or("write it as UID:GID")?;
    Ok((uid.parse().map_err(|_| "the UID is not a number")?, gid.parse().map_err(|_| "the GID is not a number")?))
}

impl Agent {
    /// Runs until it is told to end.
    pub async fn run(self) -> Outcome {
        super::serve::logging();
        let mut config = AgentConfig::new(self.state, self.socket);
        config.socket_owner = self.owner;
        config.fake_profile = self.fake_gpus;
        config.nvml_lib = self.nvml_lib;
        config.name = self.name;
        config.allow_no_isolation = self.allow_no_isolation;
        config.engine = self.engine.config();
        config.network.mode = match self.network.as_str() {
            "nat" => agent::NetworkMode::Nat,
            "closed" => agent::NetworkMode::Closed,
            other => {
                return Err(Error::new(
                    Cause::InvalidRequest,
                    format!("`{}` is no network mode", other.escape_debug()),
                )
                .hint("use nat or closed")
                .into());
            }
        };
        if let Some(first) = self.first_user {
            config.uid_base = first;
        }
        if let Some(subnet) = &self.subnet {
            config.network.subnet = subnet.parse()?;
        }
        config.network.blocked = self.block.iter().map(|text| text.parse()).collect::<Result<_>>()?;
        agent::run(config, ended()?).await?;
        Ok(0)
    }
}
