//! The Incus that `scripts/with-incus.sh` has started for this run.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// One member of it, for one site.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name in the cluster.
    pub name: String,
    socket: String,
    project: String,
    pool: String,
    network: String,
    folder: PathBuf,
}

impl Member {
    /// A member, with a project that no other site has.
    ///
    /// # Panics
    /// The run has no Incus.
    pub fn of_run(number: usize) -> Self {
        let folder = std::env::var_os("SUANLI_TEST_INCUS")
            .map(PathBuf::from)
            .expect("these tests need an Incus: run them through scripts/with-incus.sh --members 3");
        let text = std::fs::read(folder.join("cluster.json")).expect("cluster.json");
        let site: Value = serde_json::from_slice(&text).expect("JSON");
        let word = |value: &Value| value.as_str().expect("a text").to_owned();
        let member = &site["members"][number];
        static PROJECTS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = PROJECTS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Self {
            name: word(&member["name"]),
            socket: word(&member["unix_socket"]),
            project: format!("e2e-{}-{count}", std::process::id()),
            pool: word(&site["pool"]),
            network: word(&site["network"]),
            folder,
        }
    }

    /// What `suanli serve` is told.
    pub(crate) fn words(&self) -> Vec<String> {
        let engine = format!("incus:unix:{}", self.socket);
        let pairs = [
            ("--engine", engine.as_str()),
            ("--incus-project", &self.project),
            ("--incus-pool", &self.pool),
            ("--incus-network", &self.network),
        ];
        pairs.iter().flat_map(|(flag, value)| [(*flag).to_owned(), (*value).to_owned()]).collect()
    }

    /// Starts, stops or kills its daemon.
    ///
    /// # Panics
    /// That failed.
    pub fn daemon(&self, verb: &str) {
        let status = Command::new(self.folder.join("member")).args([&self.name, verb]).status().expect("member");
        assert!(status.success(), "{verb}");
    }

    /// Names and states of the containers, as Incus itself lists them.
    ///
    /// # Panics
    /// It cannot be asked.
    pub fn containers(&self) -> String {
        let output = Command::new("incus")
            .env("INCUS_SOCKET", &self.socket)
            .env("INCUS_CONF", &self.folder)
            .args(["--project", &self.project, "list", "-f", "csv", "-c", "ns"])
            .output()
            .expect("incus");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}
