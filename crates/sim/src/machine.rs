//! What is true on a machine, and what its agent can say of that.
//!
//! A model of its own, close to what the agent does with an order. It keeps what no
//! agent knows: when a renter could really use what he had.

use std::collections::{BTreeMap, BTreeSet};

use base::{Cause, Error, InstanceId, Result, Span, Timestamp};
use domain::device::{DeviceFacts, DeviceSample};
use engine::{
    Alive, CommandExit, Ended, InstanceRef, InstanceSpec, NodeInfo, NodeReport, Proof, Ready, Stats, Stopped,
};

/// The least by which the agent's time moves on over a reboot.
const TICK: Span = Span::from_millis(1);

/// What a wall clock may differ before an agent without instances follows it.
const SLACK: Span = Span::from_millis(500);

/// One run of an instance as it really was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The instance.
    pub id: InstanceId,
    /// Its generation.
    pub generation: i64,
    /// When it was proven ready, as its agent says.
    pub said_ready: Timestamp,
    /// When it was proven ready.
    pub ready: Timestamp,
    /// When its processes were gone; `None`: they run.
    pub gone: Option<Timestamp>,
    /// If it ended by itself: up to when that can be proven.
    pub died: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Created,
    Running,
    Ended,
    Stopped,
}

#[derive(Clone, Debug)]
struct Held {
    spec: InstanceSpec,
    phase: Phase,
    /// Whether it holds its cards.
    held: bool,
    said_ready: Option<Timestamp>,
    busy_until: Timestamp,
}

/// A machine. All its times are true times unless they are told to a server.
#[derive(Debug)]
pub struct Machine {
    info: NodeInfo,
    lost: BTreeSet<String>,
    held: BTreeMap<InstanceId, Held>,
    tombs: BTreeMap<InstanceId, i64>,
    /// The newest generation of each instance that was ever prepared here.
    newest: BTreeMap<InstanceId, i64>,
    runs: Vec<Run>,
    ended: Vec<(Timestamp, Ended)>,
    exits: Vec<(Timestamp, CommandExit)>,
    /// Stretches that a witness can prove; the last is the present boot.
    proofs: Vec<Proof>,
    /// The same stretches in true time.
    covered: Vec<(Timestamp, Timestamp)>,
    was_wrong: bool,
    powered: bool,
    agent: bool,
    /// Whether servers reach the agent.
    pub reachable: bool,
    /// Whether there is no room for anything new.
    pub disk_full: bool,
    wall: Span,
    offset: Span,
    broken: Vec<String>,
}

fn stale() -> Error {
    Error::new(Cause::StaleGeneration, "this generation is over")
}

/// The answer of a machine that cannot be reached.
pub fn silence() -> Error {
    Error::new(Cause::Unavailable, "the machine does not answer").hint("it is tried again by itself")
}

impl Machine {
    /// A machine with these cards that begins to be watched at `now`.
    pub fn new(name: &str, devices: Vec<DeviceFacts>, now: Timestamp) -> Self {
        let info = NodeInfo {
            name: name.into(),
            agent_version: "simulated".into(),
            boot_id: "boot-0".into(),
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
            lost: BTreeSet::new(),
            held: BTreeMap::new(),
            tombs: BTreeMap::new(),
            newest: BTreeMap::new(),
            runs: vec![],
            ended: vec![],
            exits: vec![],
            proofs: vec![Proof { from: now, to: now }],
            covered: vec![(now, now)],
            was_wrong: false,
            powered: true,
            agent: true,
            reachable: true,
            disk_full: false,
            wall: Span::ZERO,
            offset: Span::ZERO,
            broken: vec![],
        }
    }

    fn said(&self, now: Timestamp) -> Timestamp {
        now.after(self.offset)
    }

    /// The agent writes down how far it can prove.
    fn tick(&mut self, now: Timestamp) {
        if !(self.powered && self.agent) {
            return;
        }
        let said = self.said(now);
        if let Some(last) = self.proofs.last_mut() {
            last.to = last.to.max(said);
        }
        if let Some(last) = self.covered.last_mut() {
            last.1 = last.1.max(now);
        }
        let live = self.held.values().any(|h| h.held);
        let apart = Span::from_micros((self.wall.micros() - self.offset.micros()).abs());
        if !live && apart > SLACK {
            self.agree(now);
        }
    }

    /// The agent's time follows the wall clock, but never behind what was proven.
    fn agree(&mut self, now: Timestamp) {
        let last = self.proofs.last().map_or(Timestamp::EPOCH, |p| p.to).after(TICK);
        let said = now.after(self.wall).max(last);
        self.offset = said.since(now);
        self.was_wrong |= self.offset != Span::ZERO;
        self.proofs.push(Proof { from: said, to: said });
        self.covered.push((now, now));
    }

    /// Whether an order gets through to the agent.
    pub fn answers(&self) -> bool {
        self.powered && self.agent && self.reachable
    }

    // --- orders ---------------------------------------------------------

    /// What the machine is.
    pub fn info(&self) -> NodeInfo {
        self.info.clone()
    }

    /// As `Engine::create`.
    pub fn create(&mut self, spec: &InstanceSpec, now: Timestamp) -> Result<()> {
        let (id, generation) = (&spec.instance.id, spec.instance.generation);
        if self.tombs.get(id).is_some_and(|tomb| *tomb >= generation) {
            return Err(stale());
        }
        if let Some(known) = self.held.get(id) {
            let newest = known.spec.instance.generation;
            if newest > generation {
                return Err(stale());
            }
            if newest == generation {
                return match known.phase {
                    Phase::Created | Phase::Running => Ok(()),
                    Phase::Ended | Phase::Stopped => Err(stale()),
                };
            }
            self.tear_down(&id.clone(), now);
        }
        if self.disk_full {
            return Err(Error::new(Cause::DiskFull, "no room on the disk").hint("ask the operator to make room"));
        }
        let mut others = self.held.iter().filter(|(other, h)| h.held && *other != id);
        if others.any(|(_, h)| spec.devices.iter().any(|uuid| h.spec.devices.contains(uuid))) {
            return Err(Error::new(Cause::DeviceBusy, "a card is held by another instance"));
        }
        let newest = self.newest.entry(id.clone()).or_insert(generation);
        if *newest > generation {
            self.broken.push(format!("generation {generation} of {id} was prepared after {newest}"));
        }
        *newest = generation.max(*newest);
        let held = Held { spec: spec.clone(), phase: Phase::Created, held: true, said_ready: None, busy_until: now };
        self.held.insert(id.clone(), held);
        Ok(())
    }

    /// As `Engine::start`.
    pub fn start(&mut self, instance: &InstanceRef, now: Timestamp) -> Result<Ready> {
        let said = self.said(now);
        let gone = || Error::not_found("the generation");
        let held = self.held.get_mut(&instance.id).ok_or_else(gone)?;
        let known = held.spec.instance.generation;
        if known > instance.generation {
            return Err(stale());
        }
        if known < instance.generation {
            return Err(gone());
        }
        match held.phase {
            Phase::Running => {}
            Phase::Ended => return Err(Error::new(Cause::InitDied, "its first process has ended")),
            Phase::Stopped => return Err(Error::new(Cause::WrongState, "this generation was stopped")),
            Phase::Created => {
                held.phase = Phase::Running;
                held.said_ready = Some(said);
                held.busy_until = now;
                self.runs.push(Run {
                    id: instance.id.clone(),
                    generation: known,
                    said_ready: said,
                    ready: now,
                    gone: None,
                    died: None,
                });
            }
        }
        let at = held.said_ready.unwrap_or(said);
        Ok(Ready { at, notices: vec![], evidence: "the helper answered and a shell ran".into() })
    }

    /// As `Engine::stop`.
    pub fn stop(&mut self, instance: &InstanceRef, now: Timestamp) -> Result<Stopped> {
        let stopped = Stopped { at: self.said(now) };
        let Some(known) = self.held.get(&instance.id) else {
            return Ok(stopped);
        };
        if known.spec.instance.generation > instance.generation {
            return Err(stale());
        }
        self.tear_down(&instance.id, now);
        Ok(stopped)
    }

    /// As `Engine::delete`.
    pub fn delete(&mut self, instance: &InstanceRef, now: Timestamp) -> Result<()> {
        if self.held.get(&instance.id).is_some_and(|known| known.spec.instance.generation > instance.generation) {
            return Err(stale());
        }
        self.tear_down(&instance.id, now);
        self.held.remove(&instance.id);
        let tomb = self.tombs.entry(instance.id.clone()).or_insert(instance.generation);
        *tomb = instance.generation.max(*tomb);
        Ok(())
    }

    fn tear_down(&mut self, id: &InstanceId, now: Timestamp) {
        let Some(held) = self.held.get_mut(id) else {
            return;
        };
        if held.phase != Phase::Ended {
            held.phase = Phase::Stopped;
        }
        held.held = false;
        let generation = held.spec.instance.generation;
        for run in self.runs.iter_mut().filter(|r| r.id == *id && r.generation == generation) {
            run.gone.get_or_insert(now);
        }
    }

    /// As `Engine::stats`.
    pub fn stats(&self, id: &InstanceId, now: Timestamp) -> Result<Stats> {
        let held = self.held.get(id).filter(|h| h.phase == Phase::Running);
        let held = held.ok_or_else(|| Error::not_found("the running instance"))?;
        let said = self.said(now);
        Ok(Stats {
            at: said,
            cpu_used: Span::ZERO,
            cpu_milli: 0,
            memory_used_mib: 0,
            processes: 1,
            sessions: 0,
            last_active_at: self.said(held.busy_until.min(now)).max(held.said_ready.unwrap_or(said)),
            activity: "the card was at 0 %".into(),
            devices: vec![],
        })
    }

    /// As `Engine::list`.
    pub fn alive(&self) -> Vec<Alive> {
        let one = |h: &Held| Alive {
            instance: h.spec.instance.clone(),
            running: h.phase == Phase::Running,
            ready_at: h.said_ready,
            devices: if h.held { h.spec.devices.clone() } else { vec![] },
        };
        self.held.values().map(one).collect()
    }

    /// As `Engine::report`.
    pub fn report(&mut self, after: Timestamp, now: Timestamp) -> NodeReport {
        self.tick(now);
        let said = self.said(now);
        let sample = |d: &DeviceFacts| DeviceSample {
            uuid: d.uuid.clone(),
            at: said,
            gpu_util_pct: Some(0),
            memory_used_mib: Some(0),
            power_mw: None,
            sm_clock_mhz: None,
            temperature_c: None,
            lost: self.lost.contains(&d.uuid),
        };
        let proofs = self.proofs.iter().filter(|p| p.to > after && p.to >= said.before(Span::from_hours(24)));
        NodeReport {
            boot_id: self.info.boot_id.clone(),
            now: said,
            proofs: proofs.map(|p| Proof { from: p.from.max(after), to: p.to }).collect(),
            ended: since(&self.ended, after),
            command_exits: since(&self.exits, after),
            alive: self.alive(),
            samples: self.info.devices.iter().map(sample).collect(),
            inventory_version: self.info.inventory_version,
            clock_step_us: self.wall.micros() - self.offset.micros(),
        }
    }

    // --- what befalls it --------------------------------------------------

    /// The `n`-th running instance, if anything runs.
    pub fn running(&self, n: usize) -> Option<InstanceId> {
        let all: Vec<_> = self.held.iter().filter(|(_, h)| h.phase == Phase::Running).map(|(id, _)| id).collect();
        (!all.is_empty()).then(|| all[n % all.len()].clone())
    }

    /// The first process of an instance ends by itself.
    pub fn kill(&mut self, id: &InstanceId, now: Timestamp) {
        if !self.powered {
            return;
        }
        self.tick(now);
        if self.held.get(id).is_none_or(|h| h.phase != Phase::Running) {
            return;
        }
        self.gone(id, now);
        if self.agent {
            self.notice(id, Cause::InitDied, now);
        }
    }

    /// Its processes are gone; nobody has noticed.
    fn gone(&mut self, id: &InstanceId, now: Timestamp) {
        for run in self.runs.iter_mut().filter(|r| r.id == *id) {
            run.gone.get_or_insert(now);
        }
    }

    /// The agent finds that the first process of a run is gone.
    fn notice(&mut self, id: &InstanceId, cause: Cause, now: Timestamp) {
        let at = self.proofs.last().map_or(Timestamp::EPOCH, |p| p.to);
        let said = self.said(now);
        let Some(held) = self.held.get_mut(id).filter(|h| h.phase == Phase::Running) else {
            return;
        };
        held.phase = Phase::Ended;
        held.held = false;
        let generation = held.spec.instance.generation;
        let at = at.max(held.said_ready.unwrap_or(at));
        for run in self.runs.iter_mut().filter(|r| r.id == *id && r.generation == generation) {
            run.died = Some(at);
        }
        let detail = "exit status 137".into();
        self.ended.push((said, Ended { id: id.clone(), generation, at, cause, detail }));
    }

    /// The start command of an instance ends.
    pub fn command_ended(&mut self, id: &InstanceId, code: i64, now: Timestamp) {
        let at = self.said(now);
        if let Some(held) = self.held.get(id).filter(|h| h.phase == Phase::Running && self.agent) {
            let generation = held.spec.instance.generation;
            self.exits.push((at, CommandExit { id: id.clone(), generation, at, code }));
        }
    }

    /// Something goes on in an instance until then.
    pub fn busy_until(&mut self, id: &InstanceId, until: Timestamp) {
        if let Some(held) = self.held.get_mut(id) {
            held.busy_until = until;
        }
    }

    /// Power goes away: everything that ran is gone.
    pub fn power_off(&mut self, now: Timestamp) {
        self.tick(now);
        self.powered = false;
        let running: Vec<_> =
            self.held.iter().filter(|(_, h)| h.phase == Phase::Running).map(|(id, _)| id.clone()).collect();
        for id in running {
            self.gone(&id, now);
        }
    }

    /// Power is back, and the agent with it.
    pub fn power_on(&mut self, now: Timestamp) {
        if self.powered {
            return;
        }
        self.powered = true;
        self.agent = true;
        self.info.boot_id = format!("boot-{}", now.micros());
        let running: Vec<_> =
            self.held.iter().filter(|(_, h)| h.phase == Phase::Running).map(|(id, _)| id.clone()).collect();
        let last = self.proofs.last().map_or(Timestamp::EPOCH, |p| p.to).after(TICK);
        self.offset = now.after(self.wall).max(last).since(now);
        for id in running {
            self.notice(&id, Cause::NodeLost, now);
        }
        self.agree(now);
    }

    /// The agent ends; what runs goes on.
    pub fn agent_off(&mut self, now: Timestamp) {
        self.tick(now);
        self.agent = false;
    }

    /// The agent begins again: what died meanwhile is found, and the kernel is the
    /// witness for all that lived.
    pub fn agent_on(&mut self, now: Timestamp) {
        if !self.powered || self.agent {
            return;
        }
        self.agent = true;
        let dead: Vec<_> = self
            .held
            .iter()
            .filter(|(id, h)| {
                let generation = h.spec.instance.generation;
                let mut runs = self.runs.iter().filter(|r| r.id == **id && r.generation == generation);
                h.phase == Phase::Running && runs.any(|r| r.gone.is_some())
            })
            .map(|(id, _)| id.clone())
            .collect();
        for id in dead {
            self.notice(&id, Cause::InitDied, now);
        }
        self.tick(now);
    }

    /// The wall clock is this far away from the truth.
    pub fn set_wall(&mut self, by: Span, now: Timestamp) {
        self.tick(now);
        self.wall = by;
        self.tick(now);
    }

    /// A card stops or begins to answer.
    pub fn toggle_card(&mut self, n: usize) {
        let devices = &self.info.devices;
        let Some(device) = devices.get(n % devices.len().max(1)) else {
            return;
        };
        if !self.lost.remove(&device.uuid) {
            self.lost.insert(device.uuid.clone());
        }
    }

    /// Everything is as it should be again.
    pub fn repair(&mut self, now: Timestamp) {
        self.wall = Span::ZERO;
        self.power_on(now);
        self.agent_on(now);
        self.reachable = true;
        self.disk_full = false;
        self.lost.clear();
        self.tick(now);
    }

    // --- the truth --------------------------------------------------------

    /// Every run that there ever was.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// When a witness watched, in true time.
    pub fn covered(&self) -> &[(Timestamp, Timestamp)] {
        &self.covered
    }

    /// Whether its agent ever told another time than the true one.
    pub fn was_wrong(&self) -> bool {
        self.was_wrong
    }

    /// Whether there are data of an instance.
    pub fn has_data(&self, id: &InstanceId) -> bool {
        self.held.contains_key(id)
    }

    /// Broken promises that only the machine can see.
    pub fn broken(&self) -> Option<String> {
        let mut cards = BTreeSet::new();
        let mut all = self.held.values().filter(|h| h.held).flat_map(|h| &h.spec.devices);
        if let Some(card) = all.find(|card| !cards.insert((*card).clone())) {
            return Some(format!("{card} has two tenants on its machine"));
        }
        self.broken.first().cloned()
    }
}

fn since<T: Clone>(events: &[(Timestamp, T)], after: Timestamp) -> Vec<T> {
    events.iter().filter(|(noticed, _)| *noticed >= after).map(|(_, what)| what.clone()).collect()
}
