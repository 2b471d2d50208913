//! The life cycle of an instance as one table.
//!
//! Only the instance controller moves an instance along it; everybody else
//! changes what is *desired*.

use std::fmt;

use base::{Cause, Error, Result, Span};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where an instance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Accepted; no cards yet.
    Requested,
    /// Cards are allocated; the engine prepares.
    Creating,
    /// The engine starts it; not proven ready yet.
    Starting,
    /// Proven ready: the renter can use it.
    Running,
    /// Its processes are being ended, its cards given back.
    Stopping,
    /// At rest; data kept, no cards.
    Stopped,
    /// At rest after its first process or its node went away; data kept.
    Lost,
    /// At rest because it could not be started.
    Failed,
    /// Its data are being removed.
    Releasing,
    /// Gone. Only its history remains.
    Released,
}

/// What its owner wants it to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Desired {
    /// Usable.
    Running,
    /// At rest with its data.
    Stopped,
    /// Gone.
    Released,
}

/// One row of the life-cycle table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The state.
    pub state: State,
    /// What it means to the renter.
    pub meaning: &'static str,
    /// How long it may last before an incident is opened; `None` is a state of rest.
    pub deadline: Option<Span>,
    /// Whether time in it is billed (disks apart).
    pub billed: bool,
    /// Whether it may hold cards.
    pub holds_cards: bool,
    /// The states that it can go to.
    pub exits: &'static [State],
}

/// The whole life cycle. `ARCHITECTURE.md` shows this table and a test keeps the two equal.
pub const LIFE_CYCLE: &[Row] = &[
    Row {
        state: State::Requested,
        meaning: "accepted, waiting for cards",
        deadline: Some(Span::from_secs(30)),
        billed: false,
        holds_cards: false,
        exits: &[State::Creating, State::Stopping, State::Failed, State::Releasing],
    },
    Row {
        state: State::Creating,
        meaning: "cards allocated, the engine prepares",
        deadline: Some(Span::from_secs(60)),
        billed: false,
        holds_cards: true,
        exits: &[State::Starting, State::Stopping],
    },
    Row {
        state: State::Starting,
        meaning: "started, not proven ready yet",
        deadline: Some(Span::from_secs(120)),
        billed: false,
        holds_cards: true,
        exits: &[State::Running, State::Stopping],
    },
    Row {
        state: State::Running,
        meaning: "proven ready, usable",
        deadline: None,
        billed: true,
        holds_cards: true,
        exits: &[State::Stopping],
    },
    Row {
        state: State::Stopping,
        meaning: "processes end, cards are given back",
        deadline: Some(Span::from_secs(60)),
        billed: false,
        holds_cards: true,
        exits: &[State::Stopped, State::Lost, State::Failed, State::Releasing],
    },
    Row {
        state: State::Stopped,
        meaning: "at rest, data kept",
        deadline: None,
        billed: false,
        holds_cards: false,
        exits: &[State::Requested, State::Releasing],
    },
    Row {
        state: State::Lost,
        meaning: "its first process or its node went away; data kept",
        deadline: None,
        billed: false,
        holds_cards: false,
        exits: &[State::Requested, State::Releasing],
    },
    Row {
        state: State::Failed,
        meaning: "could not be started; the cause is shown",
        deadline: None,
        billed: false,
        holds_cards: false,
        exits: &[State::Requested, State::Releasing],
    },
    Row {
        state: State::Releasing,
        meaning: "data are being removed",
        deadline: Some(Span::from_secs(60)),
        billed: false,
        holds_cards: false,
        exits: &[State::Released],
    },
    Row {
        state: State::Released,
        meaning: "gone, history kept",
        deadline: None,
        billed: false,
        holds_cards: false,
        exits: &[],
    },
];

impl State {
    /// Its row of [`LIFE_CYCLE`].
    pub fn row(self) -> &'static Row {
        // The table lists the states in the order of the enum; a test proves it.
        &LIFE_CYCLE[self as usize]
    }

    /// Whether the controller may move an instance from here to `next`.
    pub fn may_become(self, next: Self) -> bool {
        self.row().exits.contains(&next)
    }

    /// Whether nothing happens to it until somebody asks.
    pub fn is_at_rest(self) -> bool {
        matches!(self, Self::Stopped | Self::Lost | Self::Failed | Self::Released)
    }

    /// The name in the API and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Creating => "creating",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Lost => "lost",
            Self::Failed => "failed",
            Self::Releasing => "releasing",
            Self::Released => "released",
        }
    }
}

impl Desired {
    /// The name in the API and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Released => "released",
        }
    }
}

/// Whether a renter in front of an instance in `state` may ask for `desired`.
///
/// # Errors
/// `wrong-state` with what to do instead.
pub fn may_ask(state: State, current: Desired, desired: Desired) -> Result<()> {
    let refuse = |message: String, hint: &str| Err(Error::new(Cause::WrongState, message).hint(hint));
    match desired {
        Desired::Running if current == Desired::Released && state != State::Released => {
            refuse("the instance is being released, so it cannot be started".into(), "rent another one")
        }
        Desired::Running if matches!(state, State::Stopped | State::Lost | State::Failed) => Ok(()),
        Desired::Running => refuse(
            format!("the instance is {state}, so it cannot be started"),
            "only a stopped, lost or failed instance can be started; `suanli show` tells the state",
        ),
        Desired::Stopped
            if matches!(state, State::Requested | State::Creating | State::Starting | State::Running)
                && current == Desired::Running =>
        {
            Ok(())
        }
        Desired::Stopped if current != Desired::Running && !state.is_at_rest() => refuse(
            format!("the instance is being {} already", current.as_str()),
            "`suanli show` tells when that is done",
        ),
        Desired::Stopped => refuse(
            format!("the instance is {state}, so it cannot be stopped"),
            "a stop is for instances that run or are about to; `suanli release` removes it for good",
        ),
        Desired::Released if state != State::Released => Ok(()),
        Desired::Released => refuse("the instance is released already".into(), "nothing is left to do"),
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::str::FromStr for State {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        LIFE_CYCLE
            .iter()
            .map(|row| row.state)
            .find(|s| s.as_str() == text)
            .ok_or_else(|| Error::new(Cause::InvalidRequest, format!("`{}` is not a state", text.escape_debug())))
    }
}

impl std::str::FromStr for Desired {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        [Self::Running, Self::Stopped, Self::Released]
            .into_iter()
            .find(|d| d.as_str() == text)
            .ok_or_else(|| Error::new(Cause::InvalidRequest, format!("`{}` is not a wish", text.escape_debug())))
    }
}

/// The table as Markdown, for `ARCHITECTURE.md`.
pub fn life_cycle_markdown() -> String {
    let mut text =
        String::from("| state | meaning | deadline | billed | holds cards | ways out |\n|---|---|---|---|---|---|\n");
    for row in LIFE_CYCLE {
        let deadline = row.deadline.map_or_else(|| "at rest".to_owned(), |d| d.to_string());
        let deadline = if row.state == State::Running { "stop rules, money, evidence".to_owned() } else { deadline };
        let exits: Vec<_> = row.exits.iter().map(|s| s.as_str()).collect();
        let yes = |b| if b { "yes" } else { "no" };
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            row.state,
            row.meaning,
            deadline,
            yes(row.billed),
            yes(row.holds_cards),
            if exits.is_empty() { "none: the end".to_owned() } else { exits.join(", ") }
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_state_has_its_own_row() {
        for (i, row) in LIFE_CYCLE.iter().enumerate() {
            assert_eq!(row.state as usize, i);
            assert_eq!(row.state.row().state, row.state);
            assert_eq!(row.state.as_str().parse::<State>().unwrap(), row.state);
        }
    }

    fn reachable(from: State) -> BTreeSet<State> {
        let mut seen = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(state) = open.pop() {
            for next in state.row().exits {
                if seen.insert(*next) {
                    open.push(*next);
                }
            }
        }
        seen
    }

    #[test]
    fn no_state_lacks_a_way_out() {
        for row in LIFE_CYCLE {
            assert!(reachable(row.state).contains(&State::Released), "{} can never be released", row.state);
        }
    }

    #[test]
    fn every_state_can_be_reached() {
        assert_eq!(reachable(State::Requested).len(), LIFE_CYCLE.len());
    }

    #[test]
    fn whatever_moves_by_itself_has_a_deadline() {
        for row in LIFE_CYCLE {
            let waits_for_nobody = row.state.is_at_rest() || row.state == State::Running;
            assert_eq!(row.deadline.is_none(), waits_for_nobody, "{}", row.state);
        }
    }

    #[test]
    fn only_what_holds_cards_is_billed_and_cards_are_given_back_before_rest() {
        for row in LIFE_CYCLE {
            assert!(!row.billed || row.holds_cards);
            assert!(!(row.state.is_at_rest() && row.holds_cards));
        }
    }

    #[test]
    fn what_is_under_way_already_is_not_called_running() {
        let why = |state, current, desired| may_ask(state, current, desired).unwrap_err().message().to_owned();
        assert!(why(State::Running, Desired::Stopped, Desired::Stopped).contains("being stopped already"));
        assert!(why(State::Stopping, Desired::Released, Desired::Stopped).contains("being released already"));
        assert!(why(State::Stopped, Desired::Released, Desired::Running).contains("being released"));
        assert!(may_ask(State::Stopped, Desired::Stopped, Desired::Running).is_ok());
    }

    #[test]
    fn the_architecture_page_shows_this_table() {
        let page = include_str!("../../../ARCHITECTURE.md");
        assert!(page.contains(&life_cycle_markdown()), "put this into ARCHITECTURE.md:\n{}", life_cycle_markdown());
    }

    #[test]
    fn every_wish_is_granted_in_some_state_and_refused_with_a_hint_in_others() {
        for desired in [Desired::Running, Desired::Stopped, Desired::Released] {
            let answers: Vec<_> = LIFE_CYCLE.iter().map(|row| may_ask(row.state, Desired::Running, desired)).collect();
            assert!(answers.iter().any(Result::is_ok));
            assert!(answers.iter().filter_map(|a| a.as_ref().err()).all(|e| e.hint_text().is_some()));
        }
    }
}
