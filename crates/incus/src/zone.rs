//! What belongs to the whole of an Incus: itself, its members, project and pools.

use base::{Cause, Result};
use http::Method;
use serde::Serialize;

use crate::transport::{Ask, Incus};
use crate::wire::{Member, Pool, PoolResources, Resources, Server, Settings};

/// A project to be made.
#[derive(Clone, Debug, Serialize)]
pub struct NewProject {
    /// Its name.
    pub name: String,
    /// For people who look at Incus.
    pub description: String,
    /// Features and restrictions.
    pub config: Settings,
}

impl Incus {
    /// Version, extensions and settings.
    ///
    /// # Errors
    /// `unavailable`, `engine-failed`.
    pub async fn server(&self) -> Result<Server> {
        self.get(&[]).await
    }

    /// Members of the cluster; none when it is no cluster.
    ///
    /// # Errors
    /// `unavailable`, `forbidden`, `engine-failed`.
    pub async fn members(&self) -> Result<Vec<Member>> {
        self.ask(Ask::get(&["cluster", "members"]).query("recursion", "1")).await?.metadata()
    }

    /// Makes the project, or brings its settings up to date.
    ///
    /// # Errors
    /// `unavailable`, `forbidden`, `engine-failed`.
    pub async fn ensure_project(&self, project: &NewProject) -> Result<()> {
        let made = self.ask(Ask::new(Method::POST, &["projects"]).json(project)?).await;
        match made {
            Ok(_) => Ok(()),
            Err(error) if error.cause() == Cause::AlreadyExists => {
                let path = ["projects", project.name.as_str()];
                let patch = serde_json::json!({ "config": project.config });
                self.ask(Ask::new(Method::PATCH, &path).json(&patch)?).await.map(drop)
            }
            Err(error) => Err(error),
        }
    }

    /// Storage pools.
    ///
    /// # Errors
    /// `unavailable`, `forbidden`, `engine-failed`.
    pub async fn pools(&self) -> Result<Vec<Pool>> {
        self.ask(Ask::get(&["storage-pools"]).query("recursion", "1")).await?.metadata()
    }

    /// Space of a pool, on one member of a cluster.
    ///
    /// # Errors
    /// `not-found`, `unavailable` …
    pub async fn pool_resources(&self, pool: &str, target: Option<&str>) -> Result<PoolResources> {
        let path = ["storage-pools", pool, "resources"];
        let mut ask = Ask::get(&path);
        if let Some(target) = target {
            ask = ask.query("target", target);
        }
        self.ask(ask).await?.metadata()
    }

    /// Hardware, of one member of a cluster.
    ///
    /// # Errors
    /// `not-found`, `unavailable` …
    pub async fn resources(&self, target: Option<&str>) -> Result<Resources> {
        let mut ask = Ask::get(&["resources"]);
        if let Some(target) = target {
            ask = ask.query("target", target);
        }
        self.ask(ask).await?.metadata()
    }
}
