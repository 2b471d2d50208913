//! Waiting for an instance to get somewhere, and saying where it is.

use std::time::Duration;

use api::event::EventQuery;
use api::instance::InstanceView;
use base::{Cause, Error, Result};
use client::{Client, EventStream};
use domain::instance::State;

use super::Failure;
use crate::output::{note, stderr_is_terminal, write_note};

/// Events make waiting quick; this is how soon a change is seen without them.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// It has its cards, or more.
    Allocated,
    /// It can be used.
    Running,
    /// It is at rest, its data kept.
    Stopped,
    /// It is gone.
    Released,
}

enum Verdict {
    Reached,
    Wait,
    Never,
}

impl Goal {
    fn judge(self, state: State) -> Verdict {
        use State::{Creating, Failed, Lost, Released, Releasing, Requested, Running, Starting, Stopped, Stopping};
        match (self, state) {
            (Self::Allocated, Creating | Starting | Running) | (Self::Running, Running) => Verdict::Reached,
            (Self::Allocated, Requested | Stopping) => Verdict::Wait,
            (Self::Running, Requested | Creating | Starting | Stopping) => Verdict::Wait,
            (Self::Allocated | Self::Running, Stopped | Lost | Failed | Releasing | Released) => Verdict::Never,
            (Self::Stopped, Stopped | Lost | Failed) => Verdict::Reached,
            (Self::Stopped, Releasing | Released) => Verdict::Never,
            (Self::Stopped, _) => Verdict::Wait,
            (Self::Released, Released) => Verdict::Reached,
            (Self::Released, _) => Verdict::Wait,
        }
    }
}

/// An instance that is waited for.
pub struct Watch<'a> {
    client: &'a Client,
    view: InstanceView,
    events: Option<EventStream>,
    asked_for_events: bool,
    told: Vec<State>,
}

impl<'a> Watch<'a> {
    /// Begins with the instance as the server last told it.
    pub fn new(client: &'a Client, view: &InstanceView) -> Self {
        Self { client, view: view.clone(), events: None, asked_for_events: false, told: Vec::new() }
    }

    /// Waits; each new state is told on standard error.
    ///
    /// # Errors
    /// The reason when the goal cannot be reached any more (always exit status
    /// 3), or what the server says.
    pub async fn until(mut self, goal: Goal) -> Result<InstanceView, Failure> {
        loop {
            self.tell();
            match goal.judge(self.view.state) {
                Verdict::Reached => {
                    self.end_line();
                    return Ok(self.view);
                }
                Verdict::Never => {
                    self.end_line();
                    return Err(Failure::refused(why_not(&self.view)));
                }
                Verdict::Wait => {}
            }
            if let Err(error) = self.change().await {
                self.end_line();
                return Err(error.into());
            }
        }
    }

    /// Waits for news and reads the instance again.
    async fn change(&mut self) -> Result<()> {
        let id = self.view.id.to_string();
        if !self.asked_for_events {
            self.asked_for_events = true;
            let query = EventQuery { after: None, subject: Some(id.clone()) };
            // They are a help, not a need: a slow answer must not hold up the look.
            let opened = tokio::time::timeout(LOOK_AGAIN, self.client.events(&query)).await;
            self.events = opened.ok().and_then(Result::ok);
        } else {
            let news = async {
                match &mut self.events {
                    Some(events) => events.next().await.map(|_| ()),
                    None => std::future::pending().await,
                }
            };
            if let Ok(Err(_)) = tokio::time::timeout(LOOK_AGAIN, news).await {
                // Without events the next looks still come.
                self.events = None;
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        }
        self.view = self.client.instance(&id).await?;
        Ok(())
    }

    fn tell(&mut self) {
        let state = self.view.state;
        if self.told.last() == Some(&state) {
            return;
        }
        let first = self.told.is_empty();
        self.told.push(state);
        match (stderr_is_terminal(), first) {
            (true, true) => write_note(&format!("{}: {state}", self.view.slug)),
            (true, false) => write_note(&format!(" → {state}")),
            (false, _) => note(&format!("{}: {state}", self.view.slug)),
        }
    }

    fn end_line(&self) {
        if stderr_is_terminal() && !self.told.is_empty() {
            write_note("\n");
        }
    }
}

/// The reason of an instance that will not get there.
pub fn why_not(view: &InstanceView) -> Error {
    let after = format!("`suanli why {}` tells more", view.id);
    match &view.reason {
        Some(reason) => {
            let hint = reason.hint.as_ref().map_or_else(|| after.clone(), |hint| format!("{hint}; {after}"));
            Error::new(reason.code, reason.message.clone()).hint(hint)
        }
        None => Error::new(Cause::WrongState, format!("the instance is {}", view.state)).hint(after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::instance::LIFE_CYCLE;

    #[test]
    fn no_goal_waits_in_a_state_of_rest() {
        for row in LIFE_CYCLE.iter().filter(|row| row.state.is_at_rest()) {
            for goal in [Goal::Allocated, Goal::Running, Goal::Stopped] {
                assert!(!matches!(goal.judge(row.state), Verdict::Wait), "{goal:?} waits for ever in {}", row.state);
            }
        }
    }

    #[test]
    fn every_goal_is_reached_somewhere() {
        for goal in [Goal::Allocated, Goal::Running, Goal::Stopped, Goal::Released] {
            assert!(LIFE_CYCLE.iter().any(|row| matches!(goal.judge(row.state), Verdict::Reached)));
        }
    }
}
