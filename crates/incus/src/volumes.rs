//! Storage that outlives instances.

use base::Result;
use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::operation::{Operation, nothing_is_empty};
use crate::transport::{Ask, Incus};
use crate::wire::{Settings, Space};

/// One volume.
#[derive(Clone, Debug, Deserialize)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// Settings; `size` is the limit.
    #[serde(default, deserialize_with = "nothing_is_empty")]
    pub config: Settings,
    /// Member that it is on; empty where all have it.
    #[serde(default)]
    pub location: String,
    /// What uses it: paths of instances.
    #[serde(default, deserialize_with = "nothing_is_empty")]
    pub used_by: Vec<String>,
}

/// A volume on one member. A cluster may have volumes of one name on several members;
/// without a cluster there is only one place.
#[derive(Clone, Copy, Debug)]
pub struct VolumeAt<'a> {
    /// Storage pool.
    pub pool: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Member of the cluster.
    pub member: Option<&'a str>,
}

impl VolumeAt<'_> {
    fn on<'a>(&'a self, ask: Ask<'a>) -> Ask<'a> {
        match self.member {
            Some(member) => ask.query("target", member),
            None => ask,
        }
    }
}

impl Incus {
    /// Makes an empty volume of so many MiB.
    ///
    /// # Errors
    /// `already-exists`, `disk-full`, `unavailable`, `engine-failed`.
    pub async fn create_volume(&self, at: VolumeAt<'_>, mib: i64, user: &Settings) -> Result<()> {
        let mut config = user.clone();
        config.insert("size".into(), format!("{mib}MiB"));
        let body = json!({ "name": at.name, "content_type": "filesystem", "config": config });
        let path = ["storage-pools", at.pool, "volumes", "custom"];
        let answer = self.ask(at.on(Ask::new(Method::POST, &path).json(&body)?)).await?;
        match Operation::of(&answer) {
            Ok(operation) => self.wait(&operation).await,
            // Small volumes are there at once.
            Err(_) => answer.check(),
        }
    }

    /// One volume.
    ///
    /// # Errors
    /// `not-found`, `unavailable` …
    pub async fn volume(&self, at: VolumeAt<'_>) -> Result<Volume> {
        let path = ["storage-pools", at.pool, "volumes", "custom", at.name];
        self.ask(at.on(Ask::get(&path))).await?.metadata()
    }

    /// Bytes used of a volume and its limit, as the pool itself counts them.
    ///
    /// # Errors
    /// `not-found`, `unavailable` …
    pub async fn volume_space(&self, at: VolumeAt<'_>) -> Result<Space> {
        #[derive(Deserialize)]
        struct State {
            usage: Option<Space>,
        }
        let path = ["storage-pools", at.pool, "volumes", "custom", at.name, "state"];
        let state: State = self.ask(at.on(Ask::get(&path))).await?.metadata()?;
        Ok(state.usage.unwrap_or_default())
    }

    /// Copies a volume to another member of the cluster, under the same name. The
    /// original stays.
    ///
    /// # Errors
    /// `already-exists`, `not-found`, `disk-full`, `unavailable`, `engine-failed`.
    pub async fn copy_volume(&self, from: VolumeAt<'_>, to: &str, tell: impl FnMut(String) + Send) -> Result<()> {
        let source = json!({
            "type": "copy", "name": from.name, "pool": from.pool, "location": from.member.unwrap_or_default(),
        });
        let body = json!({ "name": from.name, "content_type": "filesystem", "config": {}, "source": source });
        let path = ["storage-pools", from.pool, "volumes", "custom"];
        let ask = Ask::new(Method::POST, &path).query("target", to).json(&body)?;
        self.wait_and_tell(&Operation::of(&self.ask(ask).await?)?, tell).await
    }

    /// Deletes a volume that nothing uses.
    ///
    /// # Errors
    /// `not-found`, `unavailable`, `engine-failed` while it is in use.
    pub async fn delete_volume(&self, at: VolumeAt<'_>) -> Result<()> {
        let path = ["storage-pools", at.pool, "volumes", "custom", at.name];
        self.ask(at.on(Ask::new(Method::DELETE, &path))).await.map(drop)
    }

    /// Keeps the state that a volume has at this moment.
    ///
    /// # Errors
    /// `already-exists`, `not-found`, `disk-full`, `unavailable`, `engine-failed`.
    pub async fn snapshot_volume(&self, at: VolumeAt<'_>, name: &str) -> Result<()> {
        let path = ["storage-pools", at.pool, "volumes", "custom", at.name, "snapshots"];
        let ask = at.on(Ask::new(Method::POST, &path).json(&json!({ "name": name }))?);
        self.wait(&Operation::of(&self.ask(ask).await?)?).await
    }

    /// Brings a volume that nothing uses back to a snapshot.
    ///
    /// # Errors
    /// As [`Incus::snapshot_volume`].
    pub async fn restore_volume(&self, at: VolumeAt<'_>, name: &str) -> Result<()> {
        let path = ["storage-pools", at.pool, "volumes", "custom", at.name];
        let ask = at.on(Ask::new(Method::PUT, &path).json(&json!({ "restore": name }))?);
        self.ask(ask).await.map(drop)
    }
}
