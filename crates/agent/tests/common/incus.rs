//! The Incus that `scripts/with-incus.sh` has started for this run.

use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;
use suanli_agent::{EngineConfig, IncusConfig};

use super::Node;

/// One member.
#[derive(Clone, Debug, Deserialize)]
pub struct Member {
    pub name: String,
    pub unix_socket: PathBuf,
}

/// A private Incus of one or more members.
#[derive(Clone, Debug, Deserialize)]
pub struct Site {
    pub members: Vec<Member>,
    pub pool: String,
    pub network: String,
    #[serde(skip)]
    folder: PathBuf,
}

impl Site {
    /// The one of this run.
    pub fn of_run() -> Self {
        let folder = std::env::var_os("SUANLI_TEST_INCUS")
            .map(PathBuf::from)
            .expect("these tests need an Incus: run them through scripts/with-incus.sh");
        let text = std::fs::read_to_string(folder.join("cluster.json")).unwrap();
        Self { folder, ..serde_json::from_str(&text).unwrap() }
    }

    /// An agent for a member, with a project of its own.
    pub fn node(&self, member: usize, image: &str) -> Node {
        let mut node = Node::prepared("rtx4090x8");
        let mut incus = IncusConfig::new(&self.members[member].unix_socket);
        // The part that tells the agents of one run apart.
        incus.project = node.config.name.clone().unwrap();
        incus.pool.clone_from(&self.pool);
        incus.network.clone_from(&self.network);
        incus.image = image.into();
        node.config.engine = EngineConfig::Incus(incus);
        node
    }

    /// Starts, stops or kills the daemon of a member.
    pub fn member(&self, member: usize, verb: &str) {
        let status =
            Command::new(self.folder.join("member")).args([&self.members[member].name, verb]).status().unwrap();
        assert!(status.success(), "{verb}");
    }

    /// The client, beside the agent: what it prints.
    pub fn incus(&self, member: usize, node: &Node, arguments: &[&str]) -> String {
        let EngineConfig::Incus(incus) = &node.config.engine else { panic!("no Incus") };
        let output = Command::new("incus")
            .env("INCUS_SOCKET", &self.members[member].unix_socket)
            .env("INCUS_CONF", node.path())
            .args(["--project", &incus.project])
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}
