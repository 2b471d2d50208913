//! What can happen, as data: a history is a list of these, and can be kept,
//! shortened and replayed.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// One thing that happens. Numbers that pick something are taken modulo what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// A server claims one due object, of this kind if it can, and steps it.
    Step {
        /// Which server.
        server: u8,
        /// The kind that is looked at first.
        kind: u8,
        /// What happens on the way.
        twist: Twist,
    },
    /// A server asks a machine what it can prove.
    Hear {
        /// Which server.
        server: u8,
        /// Which machine.
        node: u8,
        /// What happens on the way.
        twist: Twist,
    },
    /// Somebody asks a server for something.
    Wish {
        /// Which server.
        server: u8,
        /// For what.
        wish: Wish,
        /// What happens on the way.
        twist: Twist,
    },
    /// A server numbers events.
    Number {
        /// Which server.
        server: u8,
        /// What happens on the way.
        twist: Twist,
    },
    /// Whatever was held goes on.
    Resume {
        /// Which of those who are held.
        task: u8,
        /// What happens on the way from there.
        twist: Twist,
    },
    /// An order arrives that its sender has given up, or is lost for good.
    Late {
        /// Which of those orders.
        order: u8,
        /// Whether it arrives.
        arrives: bool,
    },
    /// A server is killed and started again.
    Die {
        /// Which server.
        server: u8,
    },
    /// A follower of the event stream reads on.
    Follow,
    /// Time passes and nobody does anything.
    Pass {
        /// How long, milliseconds.
        ms: i64,
    },
    /// Time passes and everybody does what is due.
    Live {
        /// How long, milliseconds.
        ms: i64,
    },
    /// Something befalls a machine.
    Machine {
        /// Which machine.
        node: u8,
        /// What.
        event: Event,
    },
    /// Everything is repaired, and what was begun comes to an end.
    Rest,
}

/// What happens to whoever passes the `at`-th place where he can be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Twist {
    /// Counts from 0: before a write, after it, an order on its way, its answer on its way.
    pub at: u8,
    /// What happens there.
    pub fate: Fate,
}

/// What can happen to whoever waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// Nothing.
    Go,
    /// It is held until it is resumed.
    Hold,
    /// Its server dies there.
    Die,
    /// The order or its answer is lost; a write's caller goes away.
    Lose,
    /// The caller gives up, and the order arrives later or never.
    Late,
    /// The machine cannot do it.
    Refuse(u8),
}

/// What people want.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wish {
    /// Rent.
    Rent {
        /// Who pays.
        account: u8,
        /// The rate, micro-units a millisecond.
        per_ms: i64,
        /// How many cards.
        count: i64,
        /// Which stop rules.
        rules: u8,
        /// Makes it a repetition of the request that had this key before.
        key: Option<u8>,
    },
    /// Stop.
    Stop(u8),
    /// Start.
    Start(u8),
    /// Release.
    Release(u8),
    /// Pay in.
    TopUp {
        /// Whose account.
        account: u8,
        /// The payment's own number, which says how much it is too.
        key: u8,
    },
    /// Load a new price book.
    Prices(u8),
}

/// What can befall a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// It loses power.
    PowerOff,
    /// It has power again.
    PowerOn,
    /// No server reaches it.
    NetOff,
    /// Servers reach it again.
    NetOn,
    /// Its agent ends.
    AgentOff,
    /// Its agent begins.
    AgentOn,
    /// Its wall clock is this many seconds away from the truth.
    Wall(i64),
    /// A card stops or begins to answer.
    Card(u8),
    /// Its disk is full, or not any more.
    DiskFull(bool),
    /// The first process of a running instance ends.
    Kill(u8),
    /// The start command of a running instance ends.
    CommandEnds(u8),
    /// A running instance is busy for so many seconds.
    Busy(u8, i64),
}

/// As many actions as asked for, all from one seed; the last is a [`Action::Rest`].
pub fn history(seed: u64, steps: usize) -> Vec<Action> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut actions: Vec<_> = (1..steps.max(1)).map(|_| action(&mut rng)).collect();
    actions.push(Action::Rest);
    actions
}

fn twist(rng: &mut StdRng) -> Twist {
    // Most often around the first result and the first order of a step: there the races are.
    let at = *pick(rng, &[0, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8]);
    let fate = match rng.random_range(0..100) {
        0..52 => Fate::Go,
        52..80 => Fate::Hold,
        80..84 => Fate::Die,
        84..90 => Fate::Lose,
        90..95 => Fate::Late,
        _ => Fate::Refuse(rng.random_range(0..5)),
    };
    Twist { at, fate }
}

fn wish(rng: &mut StdRng) -> Wish {
    let key = rng.random_bool(0.5).then(|| rng.random_range(0..6));
    match rng.random_range(0..100) {
        0..42 => Wish::Rent {
            account: rng.random_range(0..2),
            per_ms: rng.random_range(1..9),
            count: rng.random_range(1..3),
            rules: rng.random_range(0..8),
            key,
        },
        42..60 => Wish::Stop(rng.random()),
        60..80 => Wish::Start(rng.random()),
        80..88 => Wish::Release(rng.random()),
        88..97 => Wish::TopUp { account: rng.random_range(0..2), key: rng.random_range(0..30) },
        _ => Wish::Prices(rng.random_range(0..5)),
    }
}

fn event(rng: &mut StdRng) -> Event {
    match rng.random_range(0..100) {
        0..7 => Event::PowerOff,
        7..20 => Event::PowerOn,
        20..27 => Event::NetOff,
        27..42 => Event::NetOn,
        42..48 => Event::AgentOff,
        48..58 => Event::AgentOn,
        58..64 => Event::Wall(*pick(rng, &[0, 0, 0, 400, -400, 4_000, -4_000, 90_000, -90_000])),
        64..70 => Event::Card(rng.random()),
        70..73 => Event::DiskFull(true),
        73..80 => Event::DiskFull(false),
        80..92 => Event::Kill(rng.random()),
        92..96 => Event::CommandEnds(rng.random()),
        _ => Event::Busy(rng.random(), rng.random_range(1..20_000)),
    }
}

fn pick<'t, T>(rng: &mut StdRng, of: &'t [T]) -> &'t T {
    &of[rng.random_range(0..of.len())]
}

/// From a moment to days; most often less than a lease.
fn span(rng: &mut StdRng) -> i64 {
    match rng.random_range(0..100) {
        0..40 => rng.random_range(1..1_500),
        40..72 => rng.random_range(1_000..29_000),
        72..88 => rng.random_range(30_000..130_000),
        88..95 => rng.random_range(600_000..9_000_000),
        95..98 => rng.random_range(9_000_000..80_000_000),
        _ => rng.random_range(80_000_000..200_000_000),
    }
}

fn action(rng: &mut StdRng) -> Action {
    let server = rng.random_range(0..2);
    match rng.random_range(0..1_000) {
        0..400 => Action::Step { server, kind: *pick(rng, &[0, 0, 0, 0, 1, 1, 2]), twist: twist(rng) },
        400..480 => Action::Hear { server, node: rng.random(), twist: twist(rng) },
        480..650 => Action::Wish { server, wish: wish(rng), twist: twist(rng) },
        650..665 => Action::Number { server, twist: twist(rng) },
        665..745 => Action::Resume { task: rng.random(), twist: twist(rng) },
        745..762 => Action::Late { order: rng.random(), arrives: rng.random_bool(0.7) },
        762..769 => Action::Die { server },
        769..780 => Action::Follow,
        780..845 => Action::Pass { ms: span(rng) },
        845..915 => Action::Live { ms: span(rng) },
        915..988 => Action::Machine { node: rng.random(), event: event(rng) },
        _ => Action::Rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_a_function_of_its_seed_and_comes_back_from_text() {
        let one = history(7, 200);
        assert_eq!(one, history(7, 200));
        assert_ne!(one, history(8, 200));
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Action>>(&text).unwrap(), one);
    }
}
