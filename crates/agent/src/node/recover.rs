//! Takes up what an earlier run of the agent left, whatever moment it died in.

use std::path::Path;
use std::sync::Arc;

use base::{Cause, InstanceId, Result};

use super::Node;
use crate::files;
use crate::meta::{Meta, Phase};

impl Node {
    /// Finds every instance in the state folder again.
    ///
    /// # Errors
    /// `engine-failed` when the folder cannot be read.
    pub(super) async fn recover(&self) -> Result<()> {
        let trash = self.state_dir().join("trash");
        for entry in list(&trash)? {
            if let Err(error) = files::remove_folder(&entry) {
                tracing::error!(%error, "deleted data could not be removed yet");
            }
        }
        for entry in list(&self.state_dir().join("instances"))? {
            let name = entry.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            let Ok(id) = name.parse::<InstanceId>() else {
                tracing::warn!(path = %entry.display(), "something foreign lies among the instances");
                continue;
            };
            match Meta::read(&entry.join("meta.json")) {
                Ok(Some(meta)) => self.adopt(&id, meta).await,
                Ok(None) if entry.join("home").exists() || entry.join("workspace").exists() => {
                    // A renter's data without a state: never removed by a machine.
                    tracing::error!(path = %entry.display(), "data of an instance without its state; left untouched");
                }
                Ok(None) => files::remove_folder(&entry)?,
                Err(error) => tracing::error!(%error, %id, "an instance cannot be taken up"),
            }
        }
        Ok(())
    }

    async fn adopt(&self, id: &InstanceId, mut meta: Meta) {
        let instance = self.slot(id);
        let _op = instance.op.lock().await;
        let boot = self.0.evidence.boot_id();
        let init = meta.init.as_ref().and_then(|init| init.open(boot)).map(Arc::new);
        instance.set_meta(Some(meta.clone()));
        instance.set_init(init.clone());
        let outcome = match (meta.phase, init) {
            (Phase::Running, Some(init)) => {
                tracing::info!(%id, "found a running instance again");
                self.watch(&instance, init);
                Ok(())
            }
            (Phase::Running, None) => {
                let same_boot = meta.init.as_ref().is_some_and(|i| i.boot_id == boot);
                let cause = if same_boot { Cause::InitDied } else { Cause::NodeLost };
                let at = self.0.evidence.proven_before();
                match self.record_death(&instance, &mut meta, at, cause) {
                    Ok(()) => self.tear_down(&instance, &meta).await,
                    Err(error) => Err(error),
                }
            }
            (Phase::Stopping | Phase::Ended | Phase::Stopped, _) if meta.held => self.tear_down(&instance, &meta).await,
            // The next order repeats what was cut off.
            _ => Ok(()),
        };
        if let Err(error) = outcome {
            tracing::error!(%error, %id, "an instance could not be taken up wholly");
        }
    }
}

fn list(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|e| files::error("read", folder, &e))?;
    Ok(entries.flatten().map(|e| e.path()).collect())
}
