//! The Incus that `scripts/with-incus.sh` has started for this run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use suanli_incus::{Endpoint, Incus, NewInstance, NewProject, Settings};

#[derive(Deserialize)]
pub struct Member {
    pub name: String,
    pub address: String,
    pub unix_socket: PathBuf,
}

/// What `scripts/with-incus.sh` has started.
#[derive(Deserialize)]
pub struct Site {
    pub members: Vec<Member>,
    pub switch_netns: PathBuf,
    pub client_cert: PathBuf,
    pub client_key: PathBuf,
    pub server_cert: PathBuf,
    pub pool: String,
}

impl Site {
    pub fn of_run() -> Self {
        let folder = std::env::var_os("SUANLI_TEST_INCUS")
            .map(PathBuf::from)
            .expect("these tests need an Incus: run them through scripts/with-incus.sh");
        serde_json::from_slice(&std::fs::read(folder.join("cluster.json")).unwrap()).unwrap()
    }

    /// A project of its own, over the socket of the first member.
    pub async fn project(&self, name: &str) -> Incus {
        let incus = Incus::new(Endpoint::Unix(self.members[0].unix_socket.clone()), name);
        let config: Settings =
            [("features.images", "false"), ("features.profiles", "true"), ("features.storage.volumes", "false")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into();
        let project = NewProject { name: name.into(), description: "a test".into(), config };
        incus.ensure_project(&project).await.unwrap();
        incus.ensure_project(&project).await.unwrap();
        incus
    }

    /// The first member, where there are others.
    pub fn target(&self) -> Option<&str> {
        (self.members.len() > 1).then_some(self.members[0].name.as_str())
    }

    pub fn instance(&self, name: &str) -> NewInstance {
        let root = [("type", "disk"), ("path", "/"), ("pool", self.pool.as_str())];
        let root = root.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        NewInstance {
            name: name.into(),
            kind: "container".into(),
            source: serde_json::json!({ "type": "image", "alias": "tiny" }),
            devices: BTreeMap::from([("root".to_owned(), root)]),
            ..NewInstance::default()
        }
    }

    pub async fn running(&self, incus: &Incus, name: &str) {
        incus.wait(&incus.create(&self.instance(name), self.target()).await.unwrap()).await.unwrap();
        incus.wait(&incus.start(name).await.unwrap()).await.unwrap();
    }

    pub async fn gone(&self, incus: &Incus, name: &str) {
        incus.wait(&incus.stop(name, -1, true).await.unwrap()).await.unwrap();
        incus.wait(&incus.delete(name).await.unwrap()).await.unwrap();
    }
}
