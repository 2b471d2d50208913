//! Starts a container and the helper in it.

use std::collections::BTreeMap;
use std::time::Duration;

use ::incus::{ExecRequest, Piece, Status};
use base::{Cause, Error, Result};
use tokio::time::Instant;

use super::{Containers, plan};
use crate::files;
use crate::meta::{Folders, Meta};
use crate::process::ProcessId;
use crate::runner::{Launched, died_early};

/// A container that restarts from inside is there again by then.
const RESTART: Duration = Duration::from_secs(30);
/// One that stays at rest this long was not restarted but switched off.
const REST: Duration = Duration::from_secs(5);
/// Where the helper listens inside: on a folder of the host's that shows there, so
/// that nothing mounted at boot hides it.
const SOCKET: &str = "/opt/suanli/run/guest.sock";
const GUEST: &str = "/opt/suanli/guest";

impl Containers {
    /// Starts the container, finds its first process, starts the helper.
    ///
    /// # Errors
    /// `host-incomplete`, `unavailable`, `engine-failed`.
    pub async fn launch(&self, folders: &Folders, meta: &Meta) -> Result<Launched> {
        let name = Self::name(meta);
        match self.done(self.incus.start(&name).await).await {
            Err(error) if error.cause() != Cause::AlreadyExists => return Err(error),
            _ => {}
        }
        let init = self.first_process(&name).await?.ok_or_else(|| died_early(folders))?;
        self.begin_helper(folders, meta).await?;
        let site = self.site().await?;
        let cards = self.cards.facts_of(&meta.spec.devices)?;
        let (_, numbers) = self.devices(site, folders, &meta.spec, &cards)?;
        Ok(Launched { init, numbers: Some(numbers) })
    }

    async fn first_process(&self, name: &str) -> Result<Option<ProcessId>> {
        let state = self.incus.state(name).await?;
        let pid = i32::try_from(state.pid).ok().filter(|pid| *pid > 0 && state.status_code == Status::RUNNING);
        Ok(pid.and_then(|pid| ProcessId::of(pid, &self.boot_id)))
    }

    /// Starts the helper as a daemon. Its environment, which may hold the renter's
    /// secrets, goes along with the order and is kept nowhere.
    async fn begin_helper(&self, folders: &Folders, meta: &Meta) -> Result<()> {
        let mut command: Vec<String> =
            [GUEST, "init", "--socket", SOCKET, "--detach", "--workspace", "/workspace"].map(str::to_owned).to_vec();
        if let Some(line) = &meta.spec.on_start {
            command.extend(["--on-start".to_owned(), line.clone()]);
        }
        let request = ExecRequest { command, environment: self.environment(meta), window: None };
        let mut exec = self.incus.exec(&Self::name(meta), &request).await?;
        exec.end_of_input().await;
        let mut said = Vec::new();
        while let Some(Piece::Out(bytes) | Piece::Err(bytes)) = exec.next().await {
            said.extend_from_slice(&bytes);
        }
        let code = exec.exit().await?;
        if code == 0 {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&said).trim().to_owned();
        let _ = files::replace(&folders.log(), words.as_bytes(), 0o600, false);
        Err(Error::new(Cause::EngineFailed, format!("the helper could not be started inside (status {code}): {words}"))
            .hint("the image must be a Linux system for this machine's processor"))
    }

    fn environment(&self, meta: &Meta) -> BTreeMap<String, String> {
        let mut env = meta.spec.env.clone();
        let mut own =
            vec![("SUANLI_SLUG", meta.spec.instance.slug.to_string()), ("SUANLI_WORKSPACE", "/workspace".to_owned())];
        if self.cards.fake_library().is_some() {
            own.push(("FAKE_NVML_STATE", format!("{}/cards.toml", plan::OPT)));
            own.push(("LD_LIBRARY_PATH", format!("{}/lib", plan::OPT)));
        }
        env.extend(own.into_iter().map(|(name, value)| (name.to_owned(), value)));
        env
    }

    /// After its first process has ended: whether somebody inside has asked for a
    /// restart. The container is then there again in a moment, under the same name.
    pub async fn came_back(&self, folders: &Folders, meta: &Meta) -> Option<Launched> {
        let name = Self::name(meta);
        // The on-start command belongs to the start that was asked for, not to a restart.
        let mut quiet = meta.clone();
        quiet.spec.on_start = None;
        let began = Instant::now();
        let mut rested = began;
        while began.elapsed() < RESTART {
            match self.incus.state(&name).await {
                // Between the end and the start of a restart it is at rest as well.
                Ok(state) if state.status_code == Status::STOPPED => {
                    if rested.elapsed() > REST {
                        return None;
                    }
                }
                Ok(_) => {
                    rested = Instant::now();
                    let fresh = self.first_process(&name).await.ok().flatten();
                    if let Some(init) = fresh.filter(|init| meta.init.as_ref() != Some(init)) {
                        match self.begin_helper(folders, &quiet).await {
                            Ok(()) => return Some(Launched { init, numbers: None }),
                            // It may have only just begun to start.
                            Err(error) => tracing::warn!(%error, unit = meta.unit(), "no helper yet after a restart"),
                        }
                    }
                }
                Err(error) if error.cause() == Cause::NotFound => return None,
                Err(_) => {}
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        None
    }
}
