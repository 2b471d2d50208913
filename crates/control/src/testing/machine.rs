//! What is true on a simulated machine.

use std::collections::{BTreeMap, BTreeSet};

use base::{Cause, Error, InstanceId, Result, Timestamp};
use domain::device::{DeviceFacts, DeviceSample};
use engine::{Alive, CommandExit, Ended, InstanceRef, InstanceSpec, NodeInfo, NodeReport, Proof, Ready, Stats};

/// One run of an instance as it really was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The instance.
    pub id: InstanceId,
    /// Its generation.
    pub generation: i64,
    /// When it was proven ready.
    pub ready_at: Timestamp,
    /// When it was last proven alive, if it ended by itself.
    pub ended_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Prepared,
    Running,
    Ended,
    Resting,
}

#[derive(Clone, Debug)]
struct Held {
    spec: InstanceSpec,
    phase: Phase,
    ready_at: Option<Timestamp>,
    busy_until: Timestamp,
}

/// The machine behind a [`super::SimEngine`].
pub(super) struct Machine {
    pub(super) info: NodeInfo,
    pub(super) clock_step_us: i64,
    held: BTreeMap<InstanceId, Held>,
    newest: BTreeMap<InstanceId, i64>,
    runs: Vec<Run>,
    ended: Vec<(Timestamp, Ended)>,
    exits: Vec<(Timestamp, CommandExit)>,
    proofs: Vec<Proof>,
    watching_since: Option<Timestamp>,
    lost: BTreeSet<String>,
}

impl Machine {
    pub(super) fn new(name: &str, devices: Vec<DeviceFacts>, now: Timestamp) -> Self {
        let info = NodeInfo {
            name: name.into(),
            agent_version: "simulated".into(),
            boot_id: "boot-1".into(),
            cpus: 64,
            memory_mib: 262_144,
            disk_free_mib: 1_000_000,
            isolation: "container".into(),
            notices: vec![],
            devices,
            inventory_version: 1,
        };
        Self {
            info,
            clock_step_us: 0,
            held: BTreeMap::new(),
            newest: BTreeMap::new(),
            runs: vec![],
            ended: vec![],
            exits: vec![],
            proofs: vec![],
            watching_since: Some(now),
            lost: BTreeSet::new(),
        }
    }

    fn fresh(&mut self, instance: &InstanceRef) -> Result<()> {
        let newest = self.newest.entry(instance.id.clone()).or_insert(instance.generation);
        if instance.generation < *newest {
            return Err(Error::new(Cause::StaleGeneration, "a newer generation is known here"));
        }
        *newest = instance.generation;
        Ok(())
    }

    fn held(&mut self, instance: &InstanceRef) -> Result<&mut Held> {
        self.fresh(instance)?;
        self.held.get_mut(&instance.id).ok_or_else(|| Error::not_found("the instance"))
    }

    pub(super) fn create(&mut self, spec: &InstanceSpec) -> Result<()> {
        self.fresh(&spec.instance)?;
        let old = self.held.get(&spec.instance.id);
        if old.is_some_and(|h| h.spec.instance.generation == spec.instance.generation && h.phase != Phase::Resting) {
            return Ok(());
        }
        if old.is_some_and(|h| matches!(h.phase, Phase::Prepared | Phase::Running)) {
            return Err(Error::new(Cause::EngineFailed, "an older generation has not been stopped"));
        }
        let taken = |uuid: &String| {
            let mut others = self.held.values().filter(|h| h.spec.instance.id != spec.instance.id);
            others.any(|h| h.phase != Phase::Resting && h.spec.devices.contains(uuid))
        };
        if spec.devices.iter().any(taken) {
            return Err(Error::new(Cause::DeviceBusy, "a card is held by another instance"));
        }
        let held = Held { spec: spec.clone(), phase: Phase::Prepared, ready_at: None, busy_until: Timestamp::EPOCH };
        self.held.insert(spec.instance.id.clone(), held);
        Ok(())
    }

    pub(super) fn start(&mut self, instance: &InstanceRef, now: Timestamp) -> Result<Ready> {
        let held = self.held(instance)?;
        match held.phase {
            Phase::Prepared => {}
            Phase::Running => {}
            Phase::Ended => return Err(Error::new(Cause::InitDied, "its first process has ended")),
            Phase::Resting => return Err(Error::new(Cause::EngineFailed, "it was not created")),
        }
        held.phase = Phase::Running;
        let at = *held.ready_at.get_or_insert(now);
        if at == now {
            let run = Run { id: instance.id.clone(), generation: instance.generation, ready_at: now, ended_at: None };
            if !self.runs.contains(&run) {
                self.runs.push(run);
            }
        }
        Ok(Ready { at, notices: vec![], evidence: "the helper answered and a shell ran".into() })
    }

    pub(super) fn stop(&mut self, instance: &InstanceRef) -> Result<()> {
        let held = self.held(instance)?;
        held.phase = Phase::Resting;
        held.ready_at = None;
        Ok(())
    }

    pub(super) fn delete(&mut self, instance: &InstanceRef) -> Result<()> {
        self.fresh(instance)?;
        self.held.remove(&instance.id);
        Ok(())
    }

    pub(super) fn stats(&self, id: &InstanceId, now: Timestamp) -> Result<Stats> {
        let held = self.held.get(id).filter(|h| h.phase == Phase::Running);
        let held = held.ok_or_else(|| Error::not_found("the running instance"))?;
        let ready = held.ready_at.unwrap_or(now);
        Ok(Stats {
            at: now,
            cpu_used: base::Span::ZERO,
            cpu_milli: 0,
            memory_used_mib: 0,
            processes: 1,
            sessions: 0,
            last_active_at: held.busy_until.min(now).max(ready),
            activity: "the card was at 0 %".into(),
            devices: vec![],
        })
    }

    pub(super) fn token(&self, id: &InstanceId) -> Option<String> {
        self.held.get(id).and_then(|h| h.spec.token.clone())
    }

    pub(super) fn alive(&self) -> Vec<Alive> {
        let one = |h: &Held| Alive {
            instance: h.spec.instance.clone(),
            running: h.phase == Phase::Running,
            ready_at: h.ready_at,
            devices: if h.phase == Phase::Resting { vec![] } else { h.spec.devices.clone() },
        };
        self.held.values().map(one).collect()
    }

    pub(super) fn report(&self, after: Timestamp, now: Timestamp) -> NodeReport {
        let open = self.watching_since.map(|from| Proof { from, to: now });
        let proofs = self.proofs.iter().copied().chain(open).filter(|p| p.to > after);
        let sample = |d: &DeviceFacts| DeviceSample {
            uuid: d.uuid.clone(),
            at: now,
            gpu_util_pct: Some(0),
            memory_used_mib: Some(0),
            power_mw: None,
            sm_clock_mhz: None,
            temperature_c: None,
            lost: self.lost.contains(&d.uuid),
        };
        NodeReport {
            boot_id: self.info.boot_id.clone(),
            now,
            proofs: proofs.map(|p| Proof { from: p.from.max(after), to: p.to }).collect(),
            ended: since(&self.ended, after),
            command_exits: since(&self.exits, after),
            alive: self.alive(),
            samples: self.info.devices.iter().map(sample).collect(),
            inventory_version: self.info.inventory_version,
            clock_step_us: self.clock_step_us,
        }
    }

    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    pub(super) fn busy_until(&mut self, id: &InstanceId, until: Timestamp) {
        if let Some(held) = self.held.get_mut(id) {
            held.busy_until = until;
        }
    }

    pub(super) fn command_ended(&mut self, id: &InstanceId, code: i64, now: Timestamp) {
        if let Some(held) = self.held.get(id) {
            let generation = held.spec.instance.generation;
            self.exits.push((now, CommandExit { id: id.clone(), generation, at: now, code }));
        }
    }

    pub(super) fn set_lost(&mut self, uuid: &str, lost: bool) {
        if lost {
            self.lost.insert(uuid.into());
        } else {
            self.lost.remove(uuid);
        }
    }

    /// The first process of a running instance ends; who watches notices it now,
    /// or else when watching begins again.
    pub(super) fn kill(&mut self, id: &InstanceId, now: Timestamp) {
        self.end(id, Cause::InitDied, now);
    }

    fn end(&mut self, id: &InstanceId, cause: Cause, now: Timestamp) {
        let last_proof = self.proofs.last().map_or(Timestamp::EPOCH, |p| p.to);
        let at = if self.watching_since.is_some() { now } else { last_proof };
        let Some(held) = self.held.get_mut(id).filter(|h| h.phase == Phase::Running) else {
            return;
        };
        held.phase = Phase::Ended;
        let generation = held.spec.instance.generation;
        let ended = Ended { id: id.clone(), generation, at, cause, detail: "exit status 137".into() };
        self.ended.push((now, ended));
        for run in self.runs.iter_mut().filter(|r| r.id == *id && r.generation == generation) {
            run.ended_at = Some(at);
        }
    }

    /// Nobody watches the machine from now on.
    pub(super) fn go_dark(&mut self, now: Timestamp) {
        if let Some(from) = self.watching_since.take() {
            self.proofs.push(Proof { from, to: now });
        }
    }

    /// The agent watches again. After a reboot nothing runs any more.
    pub(super) fn wake(&mut self, rebooted: bool, now: Timestamp) {
        if rebooted {
            self.info.boot_id = format!("boot-{}", now.micros());
            let running: Vec<_> = self.held.keys().cloned().collect();
            for id in running {
                self.end(&id, Cause::NodeLost, now);
            }
        }
        for (noticed, _) in &mut self.ended {
            // What happened in the dark is noticed by whoever looks first.
            if self.watching_since.is_none() && self.proofs.last().is_some_and(|p| *noticed > p.to) {
                *noticed = now;
            }
        }
        self.watching_since.get_or_insert(now);
    }
}

fn since<T: Clone>(events: &[(Timestamp, T)], after: Timestamp) -> Vec<T> {
    events.iter().filter(|(noticed, _)| *noticed >= after).map(|(_, what)| what.clone()).collect()
}
