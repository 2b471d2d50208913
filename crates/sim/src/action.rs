//! What can happen, as data: a history is a list of these, and can be kept,
//! shortened and replayed.

use serde::{Deserialize, Serialize};

/// Numbers from here on, where a wish says which instance, mean the one that the
/// newest of the held tasks has in its hands: there the races are.
pub const HELD: u8 = 200;

/// The kind of a [`Action::Step`] that settles all due segments in one transaction,
/// as the loop of a server does.
pub const IN_BULK: u8 = 3;

/// One thing that happens. Numbers that pick something are taken modulo what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// A server claims one due object, of this kind if it can, and steps it.
    Step {
        /// Which server.
        server: u8,
        /// The kind that is looked at first; [`IN_BULK`]: all segments at once.
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
        /// Which of those who are held; 0 is the newest.
        task: u8,
        /// What happens on the way from there.
        twist: Twist,
    },
    /// An order arrives that its sender has given up, or is lost for good.
    Late {
        /// Which of those orders; 0 is the newest.
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
