//! States of instances that can be gone back to.

use base::Result;
use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::operation::Operation;
use crate::transport::{Ask, Incus};
use crate::wire::{Devices, Settings};

/// A snapshot of an instance.
#[derive(Clone, Debug, Deserialize)]
pub struct Snapshot {
    /// Its name, without that of the instance.
    pub name: String,
    /// Bytes that it holds; below one where that is not known.
    #[serde(default)]
    pub size: i64,
}

/// A copy to be made of an instance or of a snapshot.
#[derive(Clone, Debug, Default)]
pub struct Copy<'a> {
    /// Name of the new instance.
    pub name: &'a str,
    /// The instance, or `INSTANCE/SNAPSHOT`.
    pub from: &'a str,
    /// Settings of the new one, instead of those of the old.
    pub config: Settings,
    /// Devices of the new one, instead of those of the old.
    pub devices: Devices,
}

impl Incus {
    /// Begins to keep the state that an instance has at this moment. With btrfs or zfs
    /// that takes no time and no space.
    ///
    /// # Errors
    /// `already-exists`, `not-found`, `disk-full`, `unavailable`, `engine-failed`.
    pub async fn snapshot(&self, instance: &str, name: &str) -> Result<Operation> {
        let path = ["instances", instance, "snapshots"];
        let body = json!({ "name": name, "stateful": false });
        Operation::of(&self.ask(Ask::new(Method::POST, &path).json(&body)?).await?)
    }

    /// Snapshots of an instance, oldest first.
    ///
    /// # Errors
    /// `not-found`, `unavailable` …
    pub async fn snapshots(&self, instance: &str) -> Result<Vec<Snapshot>> {
        self.ask(Ask::get(&["instances", instance, "snapshots"]).query("recursion", "1")).await?.metadata()
    }

    /// Begins to bring an instance at rest back to a snapshot; what came after is lost.
    ///
    /// # Errors
    /// As [`Incus::snapshot`].
    pub async fn restore(&self, instance: &str, name: &str) -> Result<Operation> {
        let path = ["instances", instance];
        Operation::of(&self.ask(Ask::new(Method::PUT, &path).json(&json!({ "restore": name }))?).await?)
    }

    /// Begins to delete a snapshot.
    ///
    /// # Errors
    /// As [`Incus::snapshot`].
    pub async fn delete_snapshot(&self, instance: &str, name: &str) -> Result<Operation> {
        Operation::of(&self.ask(Ask::new(Method::DELETE, &["instances", instance, "snapshots", name])).await?)
    }

    /// Begins to make an instance out of another or out of its snapshot, on the member
    /// `target` of a cluster.
    ///
    /// # Errors
    /// As [`Incus::snapshot`].
    pub async fn copy(&self, copy: &Copy<'_>, target: Option<&str>) -> Result<Operation> {
        // Another member asks for what it would find out by itself here.
        let original = copy.from.split('/').next().unwrap_or_default();
        let original = self.instance(original).await?.value;
        let body = json!({
            "name": copy.name,
            "architecture": original.architecture,
            "type": original.kind,
            "source": { "type": "copy", "source": copy.from, "instance_only": true },
            "config": copy.config,
            "devices": copy.devices,
            "profiles": [],
        });
        let mut ask = Ask::new(Method::POST, &["instances"]).json(&body)?;
        if let Some(target) = target {
            ask = ask.query("target", target);
        }
        Operation::of(&self.ask(ask).await?)
    }
}
