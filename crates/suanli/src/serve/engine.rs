//! Which engine runs instances, as `serve` and `agent` are told.

use std::path::PathBuf;

use agent::{EngineConfig, IncusConfig};
use clap::Args;

/// Where the packages of the distributions put Incus's socket.
const SOCKET: &str = "/var/lib/incus/unix.socket";

/// The engine and what it is told.
#[derive(Clone, Debug, Args)]
pub struct EngineFlags {
    /// What runs instances: the built-in sandbox, or the Incus of this machine
    /// (incus:unix, or incus:unix:/PATH/unix.socket)
    #[arg(long, value_name = "sandbox|incus:unix", default_value = "sandbox", value_parser = Choice::parse)]
    engine: Choice,
    /// Project of Incus that holds the instances and nothing else; made if missing
    #[arg(long, value_name = "NAME", default_value = "suanli")]
    incus_project: String,
    /// Storage pool of Incus for root disks
    #[arg(long, value_name = "NAME", default_value = "default")]
    incus_pool: String,
    /// Managed bridge of Incus for instances
    #[arg(long, value_name = "NAME", default_value = "incusbr0")]
    incus_network: String,
    /// Image in Incus for instances that ask for none
    #[arg(long, value_name = "ALIAS", default_value = "debian")]
    incus_image: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice {
    Sandbox,
    Incus(PathBuf),
}

impl Choice {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "sandbox" => Ok(Self::Sandbox),
            "incus:unix" => Ok(Self::Incus(SOCKET.into())),
            other => match other.strip_prefix("incus:unix:").filter(|path| path.starts_with('/')) {
                Some(path) => Ok(Self::Incus(path.into())),
                None => Err("use sandbox, incus:unix or incus:unix:/PATH/unix.socket".into()),
            },
        }
    }
}

impl EngineFlags {
    /// As the agent takes it.
    pub fn config(&self) -> EngineConfig {
        match &self.engine {
            Choice::Sandbox => EngineConfig::Sandbox,
            Choice::Incus(socket) => EngineConfig::Incus(IncusConfig {
                socket: socket.clone(),
                project: self.incus_project.clone(),
                pool: self.incus_pool.clone(),
                network: self.incus_network.clone(),
                image: self.incus_image.clone(),
            }),
        }
    }

    /// The same words for another process.
    pub fn words(&self) -> Vec<String> {
        let Choice::Incus(socket) = &self.engine else { return Vec::new() };
        let engine = format!("incus:unix:{}", socket.display());
        let pairs = [
            ("--engine", engine.as_str()),
            ("--incus-project", &self.incus_project),
            ("--incus-pool", &self.incus_pool),
            ("--incus-network", &self.incus_network),
            ("--incus-image", &self.incus_image),
        ];
        pairs.iter().flat_map(|(flag, value)| [(*flag).to_owned(), (*value).to_owned()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        engine: EngineFlags,
    }

    #[test]
    fn the_words_for_another_process_mean_the_same() {
        let line = ["x", "--engine", "incus:unix", "--incus-pool", "fast", "--incus-image", "a b"];
        let first = Line::parse_from(line).engine;
        let again = Line::parse_from(std::iter::once("x".to_owned()).chain(first.words())).engine;
        assert_eq!(first.config(), again.config());
        assert!(
            matches!(first.config(), EngineConfig::Incus(c) if c.socket.ends_with("incus/unix.socket") && c.pool == "fast")
        );
        assert!(Line::parse_from(["x"]).engine.words().is_empty());
        for bad in ["incus", "incus:", "incus:unix:here", "docker"] {
            assert!(Line::try_parse_from(["x", "--engine", bad]).is_err(), "{bad}");
        }
    }
}
