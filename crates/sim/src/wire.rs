//! Everything that lies between a server and the rest of the world: each write and
//! each order waits here until the scheduler lets it go on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{Error, InstanceId, Result, Span, Timestamp};
use control::Clock;
use control::testing::SimClock;
use engine::{Alive, Engine, InstanceRef, InstanceSpec, NodeInfo, NodeReport, Ready, Stats, Stopped};
use store::testing::Moment;
use tokio::sync::{mpsc, oneshot};

use crate::machine::{Machine, silence};

/// What a server asks of a machine.
#[derive(Clone, Debug)]
pub enum Order {
    /// What it is.
    Info,
    /// Prepare.
    Create(Box<InstanceSpec>),
    /// Start.
    Start(InstanceRef),
    /// Stop.
    Stop(InstanceRef),
    /// Remove.
    Delete(InstanceRef),
    /// What it has.
    List,
    /// What an instance does.
    Stats(InstanceId),
    /// What it can prove after that.
    Report(Timestamp),
}

/// What a machine answers.
#[derive(Debug)]
enum Answer {
    Info(NodeInfo),
    Done,
    Ready(Ready),
    Stopped(Stopped),
    Alive(Vec<Alive>),
    Stats(Box<Stats>),
    Report(Box<NodeReport>),
}

/// Where somebody waits.
#[derive(Clone, Debug)]
pub enum Place {
    /// Before a write.
    Before,
    /// A write is done, and nobody knows.
    After,
    /// An order is on its way to this machine.
    Request(usize, Order),
    /// Its answer is on its way back.
    Reply,
}

/// What becomes of it.
#[derive(Debug)]
pub enum Pass {
    /// It goes on.
    Go,
    /// The caller hears this instead.
    Fail(Error),
}

/// Somebody who waits.
#[derive(Debug)]
pub struct Waiting {
    /// Where.
    pub place: Place,
    /// Opens the way.
    pub open: oneshot::Sender<Pass>,
}

/// The way into the scheduler.
#[derive(Clone, Debug)]
pub struct Wire {
    arrivals: mpsc::UnboundedSender<Waiting>,
}

impl Wire {
    /// The way in, and its end at the scheduler.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Waiting>) {
        let (arrivals, received) = mpsc::unbounded_channel();
        (Self { arrivals }, received)
    }

    async fn wait(&self, place: Place) -> Pass {
        let (open, opened) = oneshot::channel();
        // Without a scheduler the story is over; whoever waits then is not listened to.
        let _ = self.arrivals.send(Waiting { place, open });
        opened.await.unwrap_or_else(|_| Pass::Fail(silence()))
    }

    /// The gate of a server's store.
    pub fn gate(&self) -> store::testing::Gate {
        let wire = self.clone();
        Arc::new(move |moment| {
            let wire = wire.clone();
            Box::pin(async move {
                let place = if moment == Moment::Before { Place::Before } else { Place::After };
                wire.wait(place).await;
            })
        })
    }
}

/// A machine that several servers share.
pub type Shared = Arc<Mutex<Machine>>;

/// The machine, for a moment.
pub fn lock(machine: &Shared) -> MutexGuard<'_, Machine> {
    machine.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The engine of a machine as one server sees it.
pub struct WireEngine {
    /// Which machine.
    pub node: usize,
    /// The machine.
    pub machine: Shared,
    /// The true time.
    pub clock: Arc<SimClock>,
    /// The way to it.
    pub wire: Wire,
}

/// Does at a machine what an order says.
///
/// # Errors
/// The machine's.
fn obey(machine: &Shared, order: &Order, now: Timestamp) -> Result<Answer> {
    let mut machine = lock(machine);
    if !machine.answers() {
        return Err(silence());
    }
    Ok(match order {
        Order::Info => Answer::Info(machine.info()),
        Order::Create(spec) => machine.create(spec, now).map(|()| Answer::Done)?,
        Order::Start(instance) => Answer::Ready(machine.start(instance, now)?),
        Order::Stop(instance) => Answer::Stopped(machine.stop(instance, now)?),
        Order::Delete(instance) => machine.delete(instance, now).map(|()| Answer::Done)?,
        Order::List => Answer::Alive(machine.alive()),
        Order::Stats(id) => Answer::Stats(Box::new(machine.stats(id, now)?)),
        Order::Report(after) => Answer::Report(Box::new(machine.report(*after, now))),
    })
}

/// An order arrives for which nobody waits any more.
pub fn arrive_late(machine: &Shared, order: &Order, now: Timestamp) {
    // Its sender is gone; whatever the machine says is heard by nobody.
    let _ = obey(machine, order, now);
}

impl WireEngine {
    async fn ask(&self, order: Order) -> Result<Answer> {
        if let Pass::Fail(error) = self.wire.wait(Place::Request(self.node, order.clone())).await {
            return Err(error);
        }
        let answer = obey(&self.machine, &order, self.clock.now());
        match self.wire.wait(Place::Reply).await {
            Pass::Go => answer,
            Pass::Fail(error) => Err(error),
        }
    }
}

fn other() -> Error {
    Error::internal("a machine answered another question")
}

impl Engine for WireEngine {
    async fn info(&self) -> Result<NodeInfo> {
        let Answer::Info(info) = self.ask(Order::Info).await? else { return Err(other()) };
        Ok(info)
    }

    async fn create(&self, spec: &InstanceSpec) -> Result<()> {
        self.ask(Order::Create(Box::new(spec.clone()))).await.map(|_| ())
    }

    async fn start(&self, instance: &InstanceRef) -> Result<Ready> {
        let Answer::Ready(ready) = self.ask(Order::Start(instance.clone())).await? else { return Err(other()) };
        Ok(ready)
    }

    async fn stop(&self, instance: &InstanceRef, _grace: Span) -> Result<Stopped> {
        let Answer::Stopped(stopped) = self.ask(Order::Stop(instance.clone())).await? else { return Err(other()) };
        Ok(stopped)
    }

    async fn delete(&self, instance: &InstanceRef) -> Result<()> {
        self.ask(Order::Delete(instance.clone())).await.map(|_| ())
    }

    async fn list(&self) -> Result<Vec<Alive>> {
        let Answer::Alive(alive) = self.ask(Order::List).await? else { return Err(other()) };
        Ok(alive)
    }

    async fn stats(&self, instance: &InstanceId) -> Result<Stats> {
        let Answer::Stats(stats) = self.ask(Order::Stats(instance.clone())).await? else { return Err(other()) };
        Ok(*stats)
    }

    async fn report(&self, after: Timestamp, _wait: Span) -> Result<NodeReport> {
        let Answer::Report(report) = self.ask(Order::Report(after)).await? else { return Err(other()) };
        Ok(*report)
    }
}
