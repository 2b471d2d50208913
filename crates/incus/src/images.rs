//! Images: what instances begin with.

use std::collections::BTreeMap;

use base::Result;
use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::operation::{Operation, Progress, nothing_is_empty};
use crate::transport::{Ask, Incus, strange};

/// One image.
#[derive(Clone, Debug, Deserialize)]
pub struct Image {
    /// Its name by content.
    pub fingerprint: String,
    /// Bytes.
    #[serde(default)]
    pub size: i64,
    /// Names that people gave it.
    #[serde(default, deserialize_with = "nothing_is_empty")]
    pub aliases: Vec<Alias>,
    /// Whatever was said of it.
    #[serde(default, deserialize_with = "nothing_is_empty")]
    pub properties: BTreeMap<String, String>,
}

/// A name of an image.
#[derive(Clone, Debug, Deserialize)]
pub struct Alias {
    /// The name.
    pub name: String,
}

impl Incus {
    /// Every image that the project sees.
    ///
    /// # Errors
    /// `unavailable`, `forbidden`, `engine-failed`.
    pub async fn images(&self) -> Result<Vec<Image>> {
        self.ask(Ask::get(&["images"]).query("recursion", "1")).await?.metadata()
    }

    /// Fingerprint of the image with this name.
    ///
    /// # Errors
    /// `not-found`, `unavailable` …
    pub async fn image_named(&self, alias: &str) -> Result<String> {
        #[derive(Deserialize)]
        struct Entry {
            target: String,
        }
        Ok(self.get::<Entry>(&["images", "aliases", alias]).await?.target)
    }

    /// Makes an image, under a name, out of a snapshot (`INSTANCE/SNAPSHOT`); `tell`
    /// hears how far it came. Its fingerprint.
    ///
    /// # Errors
    /// `already-exists`, `not-found`, `disk-full`, `unavailable`, `engine-failed`.
    pub async fn publish(
        &self,
        from: &str,
        alias: &str,
        properties: &BTreeMap<String, String>,
        mut tell: impl FnMut(Progress) + Send,
    ) -> Result<String> {
        let body = json!({
            "source": { "type": "snapshot", "name": from },
            "public": false,
            "properties": properties,
            "aliases": [{ "name": alias, "description": "" }],
        });
        let operation = Operation::of(&self.ask(Ask::new(Method::POST, &["images"]).json(&body)?).await?)?;
        let state = self.wait_state(&operation, &mut tell).await?;
        let fingerprint = state.metadata.get("fingerprint").and_then(serde_json::Value::as_str);
        fingerprint.map(str::to_owned).ok_or_else(|| strange("an image without a fingerprint"))
    }

    /// Begins to delete an image. Instances that were made of it stay.
    ///
    /// # Errors
    /// `not-found`, `unavailable`, `engine-failed`.
    pub async fn delete_image(&self, fingerprint: &str) -> Result<Operation> {
        Operation::of(&self.ask(Ask::new(Method::DELETE, &["images", fingerprint])).await?)
    }
}
