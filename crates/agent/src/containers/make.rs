//! Makes the container of a generation, or makes it out of the one before.

use ::incus::{NewInstance, Operation, Status, Update};
use base::{Cause, Error, Result};

use super::{Containers, plan};
use crate::files;
use crate::meta::{Folders, Meta};

impl Containers {
    /// Makes the container, or renames that of the generation before and brings it up
    /// to date. It does not run afterwards.
    ///
    /// # Errors
    /// `disk-full`, `device-lost`, `host-incomplete`, `unavailable`, `engine-failed`.
    pub async fn make(&self, folders: &Folders, meta: &mut Meta) -> Result<()> {
        let site = self.site().await?;
        self.show(folders)?;
        let spec = meta.spec.clone();
        let cards = self.cards.facts_of(&spec.devices)?;
        let (devices, _) = self.devices(site, folders, &spec, &cards)?;
        let name = Self::name(meta);
        match self.find(meta).await? {
            None => {
                let new = NewInstance {
                    name: name.clone(),
                    kind: "container".into(),
                    source: serde_json::json!({ "type": "image", "alias": self.config.image }),
                    config: plan::config(&spec),
                    devices,
                    profiles: Vec::new(),
                };
                let begun = self.incus.create(&new, site.member.as_deref()).await;
                self.done(begun).await?;
            }
            Some(found) => {
                if let Some(member) = site.member.as_deref().filter(|member| *member != found.location) {
                    let what = format!("its data are on {}, not on {member}", found.location);
                    return Err(Error::new(Cause::EngineFailed, what).hint("move it first"));
                }
                if found.status_code != Status::STOPPED {
                    self.halt(&found).await?;
                }
                if found.name != name {
                    self.done(self.incus.rename(&found.name, &name).await).await?;
                }
                let now = self.incus.instance(&name).await?;
                // What Incus itself noted there, such as the users inside, must stay.
                let mut config = now.value.config;
                config.retain(|key, _| key.starts_with("volatile.") || key.starts_with("image."));
                config.extend(plan::config(&spec));
                let update = Update { config, devices, profiles: Vec::new() };
                self.done(self.incus.update(&name, &update, now.etag.as_deref()).await).await?;
            }
        }
        let made = self.incus.instance(&name).await?.value;
        meta.uid = made.root_user().ok_or_else(|| {
            Error::new(Cause::EngineFailed, "Incus did not say which users the instance has")
                .hint("user namespaces must be possible: look at /etc/subuid on the node")
        })?;
        meta.notices = Vec::new();
        if !site.limits_disks {
            meta.notices.push(format!("disk use is not limited on this host: {} MiB were promised", spec.disk_mib));
        }
        Ok(())
    }

    /// Devices of a container, and the numbers of its cards' nodes.
    pub(super) fn devices(
        &self,
        site: &super::Site,
        folders: &Folders,
        spec: &engine::InstanceSpec,
        cards: &[domain::device::DeviceFacts],
    ) -> Result<(::incus::Devices, std::collections::BTreeSet<String>)> {
        let (mut devices, numbers) = plan::devices(&self.config, site, folders, spec, cards)?;
        if !self.connected {
            devices.remove("eth0");
        }
        Ok((devices, numbers))
    }

    /// What shows inside at [`plan::OPT`]: the helper, and the fake cards' library.
    fn show(&self, folders: &Folders) -> Result<()> {
        let opt = folders.opt();
        // What is mounted has to be there, and so has its place.
        files::folder(&folders.run(), 0o700, None)?;
        files::folder(&opt.join("run"), 0o755, None)?;
        let link = |from: std::path::PathBuf, to: std::path::PathBuf| {
            let _ = std::fs::remove_file(&to);
            std::fs::hard_link(&from, &to).map_err(|e| files::error("link", &to, &e))
        };
        link(self.state_dir.join("guest"), opt.join("guest"))?;
        let Some(library) = self.cards.fake_library() else { return Ok(()) };
        let entries = std::fs::read_dir(library).map_err(|e| files::error("read", library, &e))?;
        for entry in entries.flatten() {
            let to = opt.join("lib").join(entry.file_name());
            let _ = std::fs::remove_file(&to);
            match std::fs::read_link(entry.path()) {
                Ok(target) => {
                    std::os::unix::fs::symlink(target, &to).map_err(|e| files::error("link", &to, &e))?;
                }
                Err(_) => link(entry.path(), to)?,
            }
        }
        Ok(())
    }

    /// Waits for what was begun.
    pub(super) async fn done(&self, begun: Result<Operation>) -> Result<()> {
        self.incus.wait(&begun?).await
    }
}
