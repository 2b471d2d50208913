//! Letting exactly one task go on at a time, and what a twist does to it.

use super::*;

impl World {
    pub(super) fn task(&self, server: usize, what: &str, join: JoinHandle<Done>) -> Task {
        Task { server, what: what.to_owned(), join, waiting: None, hears: None, object: Hands::default() }
    }

    /// Lets one task run until it ends or is held; nothing else runs meanwhile.
    pub(super) async fn drive(&mut self, mut task: Task, twist: Twist) -> Result<Drove, Broken> {
        for place in 0..TOO_MANY {
            let waiting = match task.waiting.take() {
                Some(waiting) => waiting,
                None => tokio::select! {
                    biased;
                    Some(waiting) = self.arrivals.recv() => waiting,
                    done = &mut task.join => return self.ended(&task, done.map_err(Broken::panicked)?),
                    // Only ever passes when the story is broken: then it is told instead of waited for.
                    () = tokio::time::sleep(STUCK) => {
                        return Err(Broken::new("nobody waits for what never comes", task.what));
                    }
                },
            };
            if place != usize::from(twist.at) || twist.fate == Fate::Go {
                // Whoever was held and is gone meanwhile does not go on.
                let _ = waiting.open.send(Pass::Go);
                continue;
            }
            let hands = task.holds().map(|id| format!(" of {id}")).unwrap_or_default();
            let what = format!("{}{hands}: {:?} at {:?}", task.what, twist.fate, waiting.place);
            self.note(what);
            match (twist.fate, &waiting.place) {
                (Fate::Hold, _) | (Fate::Late, Place::Before | Place::After) => {
                    task.waiting = Some(waiting);
                    self.tasks.push(task);
                    return Ok(Drove::Off);
                }
                (Fate::Die, _) => {
                    let server = task.server;
                    self.end(task, Some(waiting)).await;
                    self.die(server).await?;
                    return Ok(Drove::Off);
                }
                (Fate::Lose, Place::Before | Place::After) => {
                    if task.hears.is_some() {
                        let server = task.server;
                        self.end(task, Some(waiting)).await;
                        self.die(server).await?;
                    } else {
                        self.end(task, Some(waiting)).await;
                    }
                    return Ok(Drove::Off);
                }
                (Fate::Late, Place::Request(node, order)) => {
                    self.orphans.push((*node, order.clone()));
                    let _ = waiting.open.send(Pass::Fail(silence()));
                }
                (Fate::Lose | Fate::Late, _) => {
                    let _ = waiting.open.send(Pass::Fail(silence()));
                }
                (Fate::Refuse(n), Place::Request(_, Order::Create(_) | Order::Start(_) | Order::Stop(_))) => {
                    let causes = [Cause::EngineFailed, Cause::DiskFull, Cause::HostIncomplete, Cause::NotReadyInTime];
                    let cause = causes[usize::from(n) % causes.len()];
                    let _ = waiting.open.send(Pass::Fail(Error::new(cause, "the machine cannot do it")));
                }
                (Fate::Go | Fate::Refuse(_), _) => {
                    let _ = waiting.open.send(Pass::Go);
                }
            }
        }
        Err(Broken::new("every step ends", format!("{} goes on and on", task.what)))
    }

    pub(super) fn ended(&mut self, task: &Task, done: Done) -> Result<Drove, Broken> {
        match done {
            Done::Stepped(false) => return Ok(Drove::Idle),
            Done::Nothing | Done::Stepped(true) => {}
            Done::Failed(error) => {
                return Err(Broken::new("a step never fails", format!("{}: {error:?}", task.what)));
            }
            Done::Registered(nodes) => {
                if self.nodes.is_empty() {
                    self.nodes = nodes;
                }
            }
            Done::Heard(node, watch, heard) => {
                if let Some(place) = self.servers[task.server].watches.get_mut(node) {
                    *place = Some(watch);
                }
                if let Err(error) = heard {
                    self.note(format!("{}: {error}", task.what));
                    Broken::unless_expected(&task.what, &error)?;
                }
            }
            Done::Answered(asked, answered) => self.answered(task, asked, answered)?,
        }
        Ok(Drove::Ended)
    }

    pub(super) fn answered(
        &mut self,
        task: &Task,
        asked: Asked,
        answered: base::Result<Answered>,
    ) -> Result<(), Broken> {
        match &answered {
            Ok(answer) => self.note(format!("{}: {answer:?}", task.what)),
            Err(error) => {
                self.note(format!("{}: {error}", task.what));
                Broken::unless_expected(&task.what, error)?;
            }
        }
        match (asked, answered) {
            (Asked::Rent(_, Some(key)), Ok(Answered::Rented(id))) => {
                self.keys.entry(key).or_default().insert(id);
            }
            (Asked::TopUp(_, amount, cause), Ok(_)) => {
                self.paid.insert(cause, amount);
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends a task where it waits; an order that is on its way stays on its way.
    pub(super) async fn end(&mut self, task: Task, waiting: Option<Waiting>) {
        if let Some(Waiting { place: Place::Request(node, order), .. }) = &waiting {
            self.orphans.push((*node, order.clone()));
        }
        task.join.abort();
        // It is cancelled, which is what was wanted.
        let _ = task.join.await;
    }

    /// A server is killed and started again: all that it had in memory is gone.
    pub(super) async fn die(&mut self, server: usize) -> Result<(), Broken> {
        let (theirs, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.tasks).into_iter().partition(|task| task.server == server);
        self.tasks = others;
        for mut task in theirs {
            let waiting = task.waiting.take();
            self.end(task, waiting).await;
        }
        self.count_failures()?;
        self.servers[server].control = Control::new(self.servers[server].store.clone(), self.clock.clone());
        let engines = self.engines();
        self.watch(server, &engines);
        Ok(())
    }

    /// Ends whatever still waits: the story is over.
    pub async fn stand_still(&mut self) {
        for mut task in std::mem::take(&mut self.tasks) {
            let waiting = task.waiting.take();
            self.end(task, waiting).await;
        }
    }

    /// Lets everybody go on who is held, and every late order arrive.
    pub async fn let_go(&mut self) -> Result<(), Broken> {
        while !self.tasks.is_empty() {
            let task = self.tasks.remove(0);
            self.note(format!("{} goes on", task.what));
            self.drive(task, GO).await?;
        }
        for (node, order) in std::mem::take(&mut self.orphans) {
            self.arrive(node, &order);
        }
        Ok(())
    }

    pub(super) fn arrive(&mut self, node: usize, order: &Order) {
        self.note(format!("an order arrives late at machine {node}: {order:?}"));
        if let Some(machine) = self.machines.get(node) {
            arrive_late(machine, order, self.now());
        }
    }
}
