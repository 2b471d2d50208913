//! The cards of this node, real or fake. Both are read the same way, through the
//! vendor's library.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base::{Cause, Error, Result, Span, Timestamp};
use devices::fake::{FakeFleet, Load, Profile, install_fake_library};
use devices::nvml::Nvml;
use domain::device::{DeviceFacts, DeviceSample};

use crate::config::AgentConfig;
use crate::files;

/// Name of the state file beside a fake library.
const STATE: &str = "cards.toml";

#[derive(Debug, Default)]
struct View {
    facts: Vec<DeviceFacts>,
    samples: Vec<DeviceSample>,
    notice: Option<String>,
}

#[derive(Debug)]
struct Fake {
    fleet: Mutex<FakeFleet>,
    /// What the agent's own copy of the library reads.
    state: PathBuf,
    /// Folder with the copy for instances.
    library: PathBuf,
    since: Timestamp,
}

/// The cards of this node.
pub struct Cards {
    nvml: Option<Nvml>,
    fake: Option<Fake>,
    view: Mutex<View>,
}

impl std::fmt::Debug for Cards {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cards").field("view", &self.view).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cards {
    /// Finds the node's cards. A node without any is a node without any, and says why.
    ///
    /// # Errors
    /// A fake profile that cannot be used, or a library named in the configuration
    /// that cannot be loaded: then the operator's wish cannot be carried out.
    pub fn open(config: &AgentConfig, node: &str, now: Timestamp) -> Result<Self> {
        let mut cards = Self { nvml: None, fake: None, view: Mutex::default() };
        if let Some(wish) = &config.fake_profile {
            // Uuids carry the node's name: two fake nodes of one fleet must differ.
            let profile = Profile::load(Path::new(wish))?.for_node(node);
            // Two folders: the state beside the agent's copy shows every card of the node.
            let (own, shared) = (config.state_dir.join("cards"), config.state_dir.join("lib"));
            files::folder(&own, 0o700, None)?;
            files::folder(&shared, 0o755, None)?;
            let fleet = FakeFleet::new(profile);
            let state = own.join(STATE);
            fleet.write_state(&state)?;
            let library = install_fake_library(&own)?;
            install_fake_library(&shared)?;
            cards.nvml = Some(Nvml::load(Some(&library))?);
            cards.fake = Some(Fake { fleet: Mutex::new(fleet), state, library: shared, since: now });
        } else {
            match Nvml::load(config.nvml_lib.as_deref()) {
                Ok(nvml) => cards.nvml = Some(nvml),
                Err(error) if config.nvml_lib.is_some() => return Err(error),
                Err(error) => {
                    let hint = error.hint_text().unwrap_or_default();
                    lock(&cards.view).notice = Some(format!("no cards: {} ({hint})", error.message()));
                }
            }
        }
        cards.read_facts();
        cards.read_samples(now);
        Ok(cards)
    }

    /// Reads again what the cards are.
    pub fn read_facts(&self) {
        let Some(nvml) = &self.nvml else { return };
        let read = nvml.facts();
        let mut view = lock(&self.view);
        match read {
            Ok(facts) => {
                view.facts = facts;
                view.notice = None;
            }
            Err(error) => view.notice = Some(format!("the cards cannot be read: {}", error.message())),
        }
    }

    /// Reads again how the cards do.
    pub fn read_samples(&self, now: Timestamp) {
        let Some(nvml) = &self.nvml else { return };
        let samples = nvml.sample(now);
        lock(&self.view).samples = samples;
    }

    /// Moves fake cards on under the loads of the instances that hold them, and shows
    /// each instance its own: folder of its state, its cards, and its processes as
    /// `(on the host, inside)`.
    pub fn step(&self, now: Timestamp, loads: &BTreeMap<String, Load>, shows: &[(PathBuf, Vec<String>, Pids)]) {
        let Some(fake) = &self.fake else { return };
        let mut fleet = lock(&fake.fleet);
        fleet.step(now.since(fake.since).max(Span::ZERO), loads);
        let written = fleet.write_state(&fake.state).and_then(|()| {
            shows.iter().try_for_each(|(folder, uuids, pids)| {
                fleet.write_state_of(&folder.join(STATE), uuids, |pid| pids.get(&pid).copied())
            })
        });
        if let Err(error) = written {
            tracing::error!(%error, "fake cards cannot be moved on");
        }
    }

    /// Shows an instance its fake cards before its first step.
    ///
    /// # Errors
    /// `disk-full` or `host-incomplete`.
    pub fn write_instance_state(&self, folder: &Path, uuids: &[String]) -> Result<()> {
        let Some(fake) = &self.fake else { return Ok(()) };
        lock(&fake.fleet).write_state_of(&folder.join(STATE), uuids, |_| None)
    }

    /// Folder with the library that instances load, where the cards are fake.
    pub fn fake_library(&self) -> Option<&Path> {
        self.fake.as_ref().map(|f| f.library.as_path())
    }

    /// What the cards are, in the vendor's order.
    pub fn facts(&self) -> Vec<DeviceFacts> {
        lock(&self.view).facts.clone()
    }

    /// The facts of these cards, in the order asked for.
    ///
    /// # Errors
    /// `device-lost` when the node has no such card.
    pub fn facts_of(&self, uuids: &[String]) -> Result<Vec<DeviceFacts>> {
        let view = lock(&self.view);
        let find = |uuid: &String| {
            view.facts.iter().find(|f| f.uuid == *uuid).cloned().ok_or_else(|| {
                Error::new(Cause::DeviceLost, format!("the node has no card {uuid}"))
                    .hint("the card was removed or no longer answers; rent another one")
            })
        };
        uuids.iter().map(find).collect()
    }

    /// The latest samples.
    pub fn samples(&self) -> Vec<DeviceSample> {
        lock(&self.view).samples.clone()
    }

    /// The latest samples of these cards.
    pub fn samples_of(&self, uuids: &[String]) -> Vec<DeviceSample> {
        lock(&self.view).samples.iter().filter(|s| uuids.contains(&s.uuid)).cloned().collect()
    }

    /// What is wrong with the cards, in sentences.
    pub fn notices(&self) -> Vec<String> {
        lock(&self.view).notice.iter().cloned().collect()
    }
}

/// Number of a process on the host to its number inside.
pub type Pids = BTreeMap<i32, i32>;
