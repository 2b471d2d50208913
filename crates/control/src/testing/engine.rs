//! An engine over a simulated machine that can be told to be difficult.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{Cause, Error, InstanceId, Result, Span, Timestamp};
use domain::device::DeviceFacts;
use engine::{Alive, Engine, InstanceRef, InstanceSpec, NodeInfo, NodeReport, Ready, Stats, Stopped};
use tokio::sync::watch;

use super::SimClock;
use super::machine::{Machine, Run};
use crate::Clock;

/// One kind of call to an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `create`.
    Create,
    /// `start`.
    Start,
    /// `stop`.
    Stop,
    /// `delete`.
    Delete,
    /// `stats`.
    Stats,
    /// `report`.
    Report,
}

/// What goes wrong with one call.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// It is refused and nothing is done.
    Refuse(Error),
    /// It is done, but the answer never arrives.
    LoseAnswer,
    /// It is done after this time.
    Slow(Span),
}

/// The engine of one simulated machine.
pub struct SimEngine {
    clock: Arc<SimClock>,
    inner: Mutex<Inner>,
    calls: watch::Sender<Vec<Call>>,
}

struct Inner {
    machine: Machine,
    reachable: bool,
    troubles: Vec<(Call, VecDeque<Trouble>)>,
}

fn unreachable() -> Error {
    Error::new(Cause::Unavailable, "the machine does not answer").hint("it is tried again by itself")
}

impl SimEngine {
    /// A machine with these devices, watched from now on.
    pub fn new(clock: Arc<SimClock>, name: &str, devices: Vec<DeviceFacts>) -> Self {
        let machine = Machine::new(name, devices, clock.now());
        let inner = Inner { machine, reachable: true, troubles: vec![] };
        Self { clock, inner: Mutex::new(inner), calls: watch::Sender::new(vec![]) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next call of this kind that has no trouble yet gets this one.
    pub fn trouble(&self, call: Call, trouble: Trouble) {
        let troubles = &mut self.inner().troubles;
        match troubles.iter_mut().find(|(c, _)| *c == call) {
            Some((_, queue)) => queue.push_back(trouble),
            None => troubles.push((call, VecDeque::from([trouble]))),
        }
    }

    /// Whether the server can reach the agent. Out of touch it goes on watching.
    pub fn set_reachable(&self, reachable: bool) {
        self.inner().reachable = reachable;
    }

    /// The agent ends: nobody watches and nobody answers, instances go on.
    pub fn go_dark(&self) {
        let now = self.clock.now();
        let mut inner = self.inner();
        inner.reachable = false;
        inner.machine.go_dark(now);
    }

    /// The agent is back; after a reboot nothing runs any more.
    pub fn wake(&self, rebooted: bool) {
        let now = self.clock.now();
        let mut inner = self.inner();
        inner.reachable = true;
        inner.machine.wake(rebooted, now);
    }

    /// The first process of an instance ends by itself.
    pub fn kill(&self, id: &InstanceId) {
        let now = self.clock.now();
        self.inner().machine.kill(id, now);
    }

    /// The start command of an instance ends.
    pub fn command_ended(&self, id: &InstanceId, code: i64) {
        let now = self.clock.now();
        self.inner().machine.command_ended(id, code, now);
    }

    /// Something goes on in an instance until then.
    pub fn busy_until(&self, id: &InstanceId, until: Timestamp) {
        self.inner().machine.busy_until(id, until);
    }

    /// Whether a card answers.
    pub fn set_lost(&self, uuid: &str, lost: bool) {
        self.inner().machine.set_lost(uuid, lost);
    }

    /// How far the wall clock moved away, microseconds.
    pub fn set_clock_step(&self, micros: i64) {
        self.inner().machine.clock_step_us = micros;
    }

    /// Changes what the machine tells of itself; the inventory gets a new version.
    pub fn change_info(&self, change: impl FnOnce(&mut NodeInfo)) {
        let info = &mut self.inner().machine.info;
        change(info);
        info.inventory_version += 1;
    }

    /// The token that the last generation of an instance came with.
    pub fn token(&self, id: &InstanceId) -> Option<String> {
        self.inner().machine.token(id)
    }

    /// What the machine has, whether it can be reached or not.
    pub fn truth(&self) -> Vec<Alive> {
        self.inner().machine.alive()
    }

    /// Every run that there ever was, oldest first.
    pub fn runs(&self) -> Vec<Run> {
        self.inner().machine.runs().to_vec()
    }

    /// The calls that arrived, oldest first; changes with each.
    pub fn calls(&self) -> watch::Receiver<Vec<Call>> {
        self.calls.subscribe()
    }

    async fn call<T>(&self, call: Call, work: impl FnOnce(&mut Machine, Timestamp) -> Result<T>) -> Result<T> {
        let trouble = {
            let mut inner = self.inner();
            if !inner.reachable {
                return Err(unreachable());
            }
            inner.troubles.iter_mut().find(|(c, _)| *c == call).and_then(|(_, queue)| queue.pop_front())
        };
        self.calls.send_modify(|calls| calls.push(call));
        let (wait, lose) = match trouble {
            Some(Trouble::Refuse(error)) => return Err(error),
            Some(Trouble::LoseAnswer) => (None, true),
            Some(Trouble::Slow(span)) => (Some(span), false),
            None => (None, false),
        };
        if let Some(span) = wait {
            self.clock.sleep_until(self.clock.now().after(span)).await;
        }
        let now = self.clock.now();
        let done = work(&mut self.inner().machine, now);
        if lose { Err(unreachable()) } else { done }
    }
}

impl Engine for SimEngine {
    async fn info(&self) -> Result<NodeInfo> {
        let inner = self.inner();
        if inner.reachable { Ok(inner.machine.info.clone()) } else { Err(unreachable()) }
    }

    async fn create(&self, spec: &InstanceSpec) -> Result<()> {
        self.call(Call::Create, |machine, _| machine.create(spec)).await
    }

    async fn start(&self, instance: &InstanceRef) -> Result<Ready> {
        self.call(Call::Start, |machine, now| machine.start(instance, now)).await
    }

    async fn stop(&self, instance: &InstanceRef, _grace: Span) -> Result<Stopped> {
        self.call(Call::Stop, |machine, now| machine.stop(instance).map(|()| Stopped { at: now })).await
    }

    async fn delete(&self, instance: &InstanceRef) -> Result<()> {
        self.call(Call::Delete, |machine, _| machine.delete(instance)).await
    }

    async fn list(&self) -> Result<Vec<Alive>> {
        let inner = self.inner();
        if inner.reachable { Ok(inner.machine.alive()) } else { Err(unreachable()) }
    }

    async fn stats(&self, instance: &InstanceId) -> Result<Stats> {
        self.call(Call::Stats, |machine, now| machine.stats(instance, now)).await
    }

    async fn report(&self, after: Timestamp, _wait: Span) -> Result<NodeReport> {
        self.call(Call::Report, |machine, now| Ok(machine.report(after, now))).await
    }
}
