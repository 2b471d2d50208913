//! Instances: the life of containers and virtual machines.

use base::Result;
use http::Method;
use serde_json::json;

use crate::operation::Operation;
use crate::transport::{Ask, Incus};
use crate::wire::{Instance, InstanceState, NewInstance, Update};

/// Something that was read, and the version in which it was.
#[derive(Clone, Debug)]
pub struct Tagged<T> {
    /// What was read.
    pub value: T,
    /// Its version, for a change that must not overtake another.
    pub etag: Option<String>,
}

impl Incus {
    /// Every instance of the project, on all members that answer.
    ///
    /// # Errors
    /// See [`crate`]: `unavailable`, `forbidden`, `engine-failed`.
    pub async fn instances(&self) -> Result<Vec<Instance>> {
        self.ask(Ask::get(&["instances"]).query("recursion", "1")).await?.metadata()
    }

    /// One instance.
    ///
    /// # Errors
    /// `not-found`, `unavailable` …
    pub async fn instance(&self, name: &str) -> Result<Tagged<Instance>> {
        let answer = self.ask(Ask::get(&["instances", name])).await?;
        Ok(Tagged { value: answer.metadata()?, etag: answer.etag() })
    }

    /// What an instance uses now.
    ///
    /// # Errors
    /// `not-found`, `unavailable` …
    pub async fn state(&self, name: &str) -> Result<InstanceState> {
        self.get(&["instances", name, "state"]).await
    }

    /// Begins to make an instance, on the member `target` of a cluster.
    ///
    /// # Errors
    /// `already-exists`, `disk-full`, `unavailable`, `engine-failed`.
    pub async fn create(&self, new: &NewInstance, target: Option<&str>) -> Result<Operation> {
        let mut ask = Ask::new(Method::POST, &["instances"]).json(new)?;
        if let Some(target) = target {
            ask = ask.query("target", target);
        }
        Operation::of(&self.ask(ask).await?)
    }

    /// Begins to replace what an instance is, if nobody else has changed it since.
    ///
    /// # Errors
    /// `stale-generation` when somebody has, else as [`Incus::create`].
    pub async fn update(&self, name: &str, update: &Update, etag: Option<&str>) -> Result<Operation> {
        let path = ["instances", name];
        Operation::of(&self.ask(Ask::new(Method::PUT, &path).json(update)?.if_match(etag)).await?)
    }

    /// Begins to give an instance at rest another name.
    ///
    /// # Errors
    /// `already-exists`, `not-found`, `unavailable`, `engine-failed`.
    pub async fn rename(&self, name: &str, new: &str) -> Result<Operation> {
        let path = ["instances", name];
        Operation::of(&self.ask(Ask::new(Method::POST, &path).json(&json!({ "name": new }))?).await?)
    }

    /// Begins to start an instance.
    ///
    /// # Errors
    /// `already-exists` when it runs, else as [`Incus::rename`].
    pub async fn start(&self, name: &str) -> Result<Operation> {
        self.change_state(name, &json!({ "action": "start", "timeout": 60, "stateful": false })).await
    }

    /// Begins to stop an instance: asks it, and waits at most `seconds`; or at once
    /// with `force`.
    ///
    /// # Errors
    /// `already-exists` when it is at rest, else as [`Incus::rename`].
    pub async fn stop(&self, name: &str, seconds: i64, force: bool) -> Result<Operation> {
        self.change_state(name, &json!({ "action": "stop", "timeout": seconds, "force": force })).await
    }

    async fn change_state(&self, name: &str, body: &serde_json::Value) -> Result<Operation> {
        let path = ["instances", name, "state"];
        Operation::of(&self.ask(Ask::new(Method::PUT, &path).json(body)?).await?)
    }

    /// Begins to delete an instance at rest, with its root disk and snapshots.
    ///
    /// # Errors
    /// As [`Incus::rename`].
    pub async fn delete(&self, name: &str) -> Result<Operation> {
        Operation::of(&self.ask(Ask::new(Method::DELETE, &["instances", name])).await?)
    }

    /// Begins to move an instance at rest to another member.
    ///
    /// # Errors
    /// As [`Incus::rename`].
    pub async fn relocate(&self, name: &str, target: &str) -> Result<Operation> {
        let path = ["instances", name];
        let ask = Ask::new(Method::POST, &path).query("target", target);
        Operation::of(&self.ask(ask.json(&json!({ "name": name, "migration": true }))?).await?)
    }
}
