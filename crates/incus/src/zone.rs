//! What belongs to the whole of an Incus: itself, its members, project and pools.

use base::{Cause, Result};
use http::Method;
use serde::{Deserialize, Serialize};

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

#[derive(Deserialize)]
struct Project {
    config: Settings,
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
        let path = ["projects", project.name.as_str()];
        loop {
            match self.ask(Ask::get(&path)).await {
                Ok(answer) => {
                    let found: Project = answer.metadata()?;
                    let mut config = found.config.clone();
                    config.extend(project.config.clone());
                    if config == found.config {
                        return Ok(());
                    }
                    let body = serde_json::json!({ "description": project.description, "config": config });
                    let ask = Ask::new(Method::PUT, &path).json(&body)?.if_match(answer.etag().as_deref());
                    return self.ask(ask).await.map(drop);
                }
                Err(error) if error.cause() == Cause::NotFound => {}
                Err(error) => return Err(error),
            }
            match self.ask(Ask::new(Method::POST, &["projects"]).json(project)?).await {
                Ok(_) => return Ok(()),
                // Somebody else was quicker; it is looked at again.
                Err(error) if error.cause() == Cause::AlreadyExists => {}
                Err(error) => return Err(error),
            }
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
