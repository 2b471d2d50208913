//! Proofs of life: what the node can still prove after the agent, the server or
//! the machine was away.
//!
//! Within one boot the kernel is the witness: an instance whose first process is
//! still the same one (same id, same start time) has lived all along, whether or
//! not the agent ran. So a stretch grows with every boot of the machine, not with
//! every start of the agent; only a reboot or a sleeping machine makes a hole.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::{Result, Span, Timestamp};
use domain::device::{DeviceFacts, DeviceSample};
use engine::report::{Alive, CommandExit, Ended, NodeReport, Proof};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::clock::{Anchor, Clock, asleep_us};
use crate::files;

/// What is not delivered within this time is never billed.
const KEPT: Span = Span::from_hours(24);
/// Sleep shorter than this is the clocks' own jitter.
const SLEEP_SLACK_US: i64 = 1_000_000;
/// Wall clocks are slewed all the time; only more than this is a step.
const STEP_SLACK_US: i64 = 500_000;

/// Something with the moment at which the agent learned of it. Delivery goes by
/// that moment, because the event itself may be older than what was delivered.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Noticed<T> {
    noticed: Timestamp,
    what: T,
}

/// Written every second.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Watermark {
    boot_id: String,
    anchor: Anchor,
    proofs: Vec<Proof>,
}

/// Written when it changes, durably.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Events {
    #[serde(default)]
    ended: Vec<Noticed<Ended>>,
    #[serde(default)]
    command_exits: Vec<Noticed<CommandExit>>,
    #[serde(default)]
    inventory_version: i64,
    #[serde(default)]
    devices: Vec<DeviceFacts>,
}

#[derive(Debug)]
struct State {
    proofs: Vec<Proof>,
    events: Events,
    asleep_us: i64,
}

/// The evidence of this node.
#[derive(Debug)]
pub struct Evidence {
    dir: PathBuf,
    boot_id: String,
    clock: Clock,
    proven_before: Timestamp,
    state: Mutex<State>,
    news: watch::Sender<u64>,
}

impl Evidence {
    /// Takes up the evidence in `dir`, made in whatever boot it was.
    ///
    /// # Errors
    /// `disk-full` or `engine-failed` when nothing can be written there.
    pub fn open(dir: &Path, boot_id: &str) -> Result<Self> {
        files::folder(dir, 0o700, None)?;
        let saved: Option<Watermark> = read(&dir.join("watermark.json"));
        let events: Events = read(&dir.join("events.json")).unwrap_or_default();
        let last = saved.as_ref().and_then(|w| w.proofs.last()).map_or(Timestamp::EPOCH, |p| p.to);
        let same_boot = saved.as_ref().is_some_and(|w| w.boot_id == boot_id && !w.proofs.is_empty());
        let (clock, mut proofs) = match saved {
            Some(w) if same_boot => (Clock::from_anchor(w.anchor), w.proofs),
            Some(w) => (Clock::start(last.after(Span::from_micros(1))), w.proofs),
            None => (Clock::start(Timestamp::EPOCH), Vec::new()),
        };
        let now = clock.now();
        if !same_boot {
            proofs.push(Proof { from: now, to: now });
        }
        let proven_before = if last > Timestamp::EPOCH { last } else { now };
        let state = Mutex::new(State { proofs, events, asleep_us: asleep_us() });
        let evidence = Self {
            dir: dir.to_owned(),
            boot_id: boot_id.to_owned(),
            clock,
            proven_before,
            state,
            news: watch::Sender::new(0),
        };
        evidence.tick(true)?;
        Ok(evidence)
    }

    /// Agent time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The last moment that an earlier run of the agent proved, or the start of this one.
    pub fn proven_before(&self) -> Timestamp {
        self.proven_before
    }

    /// This boot of the machine.
    pub fn boot_id(&self) -> &str {
        &self.boot_id
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Extends the proof to now and writes it down; called every second. While
    /// `live` instances exist the clock is never set.
    ///
    /// # Errors
    /// As [`files::replace`].
    pub fn tick(&self, live: bool) -> Result<()> {
        let mut state = self.state();
        let slept = asleep_us() - state.asleep_us;
        if slept > SLEEP_SLACK_US {
            state.asleep_us += slept;
            let now = self.now();
            state.proofs.push(Proof { from: now, to: now });
        } else if !live && self.clock.step().micros().abs() > STEP_SLACK_US {
            let last = state.proofs.last().map_or(Timestamp::EPOCH, |p| p.to);
            self.clock.agree(last.after(Span::from_micros(1)));
            let now = self.now();
            state.proofs.push(Proof { from: now, to: now });
        }
        self.extend(&mut state);
        let watermark =
            Watermark { boot_id: self.boot_id.clone(), anchor: self.clock.anchor(), proofs: state.proofs.clone() };
        drop(state);
        let text = serde_json::to_vec(&watermark).map_err(base::Error::internal)?;
        files::replace(&self.dir.join("watermark.json"), &text, 0o600, false)
    }

    /// Within a boot nothing is missed: a dead first process is noticed from the
    /// kernel, at once or at the next start.
    fn extend(&self, state: &mut State) -> Timestamp {
        let now = self.now();
        if let Some(last) = state.proofs.last_mut() {
            last.to = last.to.max(now);
        }
        let oldest = now.before(KEPT);
        state.proofs.retain(|p| p.to >= oldest);
        now
    }

    /// Records that a generation ended by itself.
    ///
    /// # Errors
    /// As [`files::replace`]; it is kept in memory all the same.
    pub fn ended(&self, what: Ended) -> Result<()> {
        self.change(|events, noticed| events.ended.push(Noticed { noticed, what }))
    }

    /// Records the end of an `on_start` command.
    ///
    /// # Errors
    /// As [`files::replace`]; it is kept in memory all the same.
    pub fn command_exit(&self, what: CommandExit) -> Result<()> {
        self.change(|events, noticed| events.command_exits.push(Noticed { noticed, what }))
    }

    /// Takes the node's devices as they are now; the version of the inventory.
    ///
    /// # Errors
    /// As [`files::replace`].
    pub fn inventory(&self, devices: &[DeviceFacts]) -> Result<i64> {
        if self.state().events.devices != devices || self.inventory_version() == 0 {
            self.change(|events, _| {
                events.devices = devices.to_vec();
                events.inventory_version += 1;
            })?;
        }
        Ok(self.inventory_version())
    }

    /// See [`NodeReport::inventory_version`].
    pub fn inventory_version(&self) -> i64 {
        self.state().events.inventory_version
    }

    fn change(&self, change: impl FnOnce(&mut Events, Timestamp)) -> Result<()> {
        let mut state = self.state();
        let now = self.now();
        change(&mut state.events, now);
        let oldest = now.before(KEPT);
        state.events.ended.retain(|e| e.noticed >= oldest);
        state.events.command_exits.retain(|e| e.noticed >= oldest);
        let text = serde_json::to_vec(&state.events).map_err(base::Error::internal)?;
        // Under the lock: two changes must not overtake each other on the way to the disk.
        let written = files::replace(&self.dir.join("events.json"), &text, 0o600, true);
        drop(state);
        self.news.send_modify(|n| *n += 1);
        written
    }

    fn has_news(&self, after: Timestamp) -> bool {
        let events = &self.state().events;
        events.ended.iter().any(|e| e.noticed >= after) || events.command_exits.iter().any(|e| e.noticed >= after)
    }

    /// Everything proven after `after`; waits up to `wait` when nothing happened
    /// since. `view` gives the instances and samples at the moment of answering.
    pub async fn report<F>(&self, after: Timestamp, wait: Span, view: F) -> NodeReport
    where
        F: FnOnce() -> (Vec<Alive>, Vec<DeviceSample>),
    {
        let mut news = self.news.subscribe();
        news.mark_unchanged();
        if !self.has_news(after) {
            let wait = Duration::from_micros(wait.micros().max(0).unsigned_abs());
            // Either outcome is an answer: something happened, or the time is over.
            let _ = tokio::time::timeout(wait, news.changed()).await;
        }
        let (alive, samples) = view();
        let mut state = self.state();
        let now = self.extend(&mut state);
        let proofs = state.proofs.iter().filter(|p| p.to > after);
        NodeReport {
            boot_id: self.boot_id.clone(),
            now,
            proofs: proofs.map(|p| Proof { from: p.from.max(after), to: p.to }).collect(),
            ended: since(&state.events.ended, after),
            command_exits: since(&state.events.command_exits, after),
            alive,
            samples,
            inventory_version: state.events.inventory_version,
            clock_step_us: self.clock.step().micros(),
        }
    }
}

fn since<T: Clone>(events: &[Noticed<T>], after: Timestamp) -> Vec<T> {
    events.iter().filter(|e| e.noticed >= after).map(|e| e.what.clone()).collect()
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    let text = std::fs::read(path).ok()?;
    match serde_json::from_slice(&text) {
        Ok(value) => Some(value),
        Err(error) => {
            // What cannot be read proves nothing; the renter must not pay for that.
            tracing::error!(path = %path.display(), %error, "evidence is damaged and not used");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Cause, InstanceId};

    fn ended(at: Timestamp) -> Ended {
        Ended { id: InstanceId::new(at, 1), generation: 1, at, cause: Cause::InitDied, detail: String::new() }
    }

    async fn report(e: &Evidence, after: Timestamp) -> NodeReport {
        e.report(after, Span::ZERO, || (Vec::new(), Vec::new())).await
    }

    #[tokio::test]
    async fn a_restart_in_the_same_boot_leaves_no_hole() {
        let dir = tempfile::tempdir().unwrap();
        let first = Evidence::open(dir.path(), "boot-1").unwrap();
        let from = report(&first, Timestamp::EPOCH).await.proofs[0].from;
        drop(first);
        let second = Evidence::open(dir.path(), "boot-1").unwrap();
        let again = report(&second, Timestamp::EPOCH).await;
        assert_eq!(again.proofs.len(), 1);
        assert_eq!(again.proofs[0].from, from);
        assert_eq!(again.proofs[0].to, again.now);
    }

    #[tokio::test]
    async fn a_reboot_leaves_a_hole_from_the_last_proof() {
        let dir = tempfile::tempdir().unwrap();
        let first = Evidence::open(dir.path(), "boot-1").unwrap();
        first.tick(true).unwrap();
        let last = first.state().proofs[0].to;
        drop(first);
        let second = Evidence::open(dir.path(), "boot-2").unwrap();
        assert_eq!(second.proven_before(), last);
        let proofs = report(&second, Timestamp::EPOCH).await.proofs;
        assert_eq!(proofs.len(), 2);
        assert_eq!(proofs[0].to, last);
        assert!(proofs[1].from > last);
        let later = report(&second, last).await.proofs;
        assert_eq!(later.len(), 1, "what was delivered does not come again");
    }

    #[tokio::test]
    async fn a_late_discovery_is_delivered_although_it_is_old() {
        let dir = tempfile::tempdir().unwrap();
        let e = Evidence::open(dir.path(), "boot-1").unwrap();
        let delivered = report(&e, Timestamp::EPOCH).await.now;
        e.ended(ended(delivered.before(Span::from_secs(5)))).unwrap();
        let next = report(&e, delivered).await;
        assert_eq!(next.ended.len(), 1);
        assert!(report(&e, next.now.after(Span::from_micros(1))).await.ended.is_empty());
        drop(e);
        let e = Evidence::open(dir.path(), "boot-2").unwrap();
        assert_eq!(report(&e, delivered).await.ended.len(), 1, "it outlives the agent");
    }

    #[tokio::test]
    async fn a_waiting_report_is_woken_by_news() {
        let dir = tempfile::tempdir().unwrap();
        let e = std::sync::Arc::new(Evidence::open(dir.path(), "boot-1").unwrap());
        let now = e.now().after(Span::from_micros(1));
        let waiting = tokio::spawn({
            let e = e.clone();
            async move { e.report(now, Span::from_hours(1), || (Vec::new(), Vec::new())).await }
        });
        while e.news.receiver_count() == 0 {
            tokio::task::yield_now().await;
        }
        e.ended(ended(now)).unwrap();
        assert_eq!(waiting.await.unwrap().ended.len(), 1);
    }

    #[test]
    fn the_inventory_version_grows_only_with_changes() {
        let dir = tempfile::tempdir().unwrap();
        let e = Evidence::open(dir.path(), "boot-1").unwrap();
        assert_eq!(e.inventory(&[]).unwrap(), 1);
        assert_eq!(e.inventory(&[]).unwrap(), 1);
        drop(e);
        let e = Evidence::open(dir.path(), "boot-2").unwrap();
        assert_eq!(e.inventory(&[]).unwrap(), 1);
    }
}
