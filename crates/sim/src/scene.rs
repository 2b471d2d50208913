//! Several actions that belong together. Dice alone hardly ever hold a step and then
//! wish something of the very instance that this step has in its hands; a scene does.
//!
//! A scene is only a stretch of a history: nothing says later that it was one, so a
//! history is shortened and replayed action by action.

mod life;

use rand::Rng;
use rand::rngs::StdRng;
use store::lease::LEASE;

use crate::action::{Action, Event, Fate, HELD, IN_BULK, Twist, Wish};
use crate::mix::{pick, span};
use crate::world::GO;

/// The kinds of [`Action::Step`].
const INSTANCES: u8 = 0;
const SEGMENTS: u8 = 1;
const ACCOUNTS: u8 = 2;

/// Steps from a request to the first look of a running instance, and one more.
const WAY_UP: usize = 5;

/// For so long evidence may be late, milliseconds.
const A_DAY: i64 = 24 * 3_600_000;

/// Appends a scene.
pub(crate) fn add(rng: &mut StdRng, to: &mut Vec<Action>) {
    match rng.random_range(0..100) {
        0..25 => race(rng, to),
        25..40 => rush(rng, to),
        40..48 => purse(rng, to),
        48..56 => ghost(rng, to),
        56..62 => silence(rng, to),
        _ => life::add(rng, to),
    }
}

fn server(rng: &mut StdRng) -> u8 {
    rng.random_range(0..2)
}

fn step(server: u8, kind: u8) -> Action {
    Action::Step { server, kind, twist: GO }
}

fn held(server: u8, kind: u8, at: u8) -> Action {
    Action::Step { server, kind, twist: Twist { at, fate: Fate::Hold } }
}

fn wish(rng: &mut StdRng, wish: Wish) -> Action {
    Action::Wish { server: server(rng), wish, twist: GO }
}

/// The newest of those who are held goes on.
const RESUME: Action = Action::Resume { task: 0, twist: GO };

/// A moment in which all that is due gets done, so that what comes next is alone.
const SETTLE: Action = Action::Live { ms: 1 };

fn rent(rng: &mut StdRng, count: i64) -> Action {
    let rent = Wish::Rent {
        account: u8::from(rng.random_bool(0.2)),
        per_ms: rng.random_range(1..9),
        count,
        // Most without rules: they wake an instance that somebody forgot.
        rules: if rng.random_bool(0.25) { rng.random_range(0..3) } else { 7 },
        key: None,
    };
    wish(rng, rent)
}

/// The order of a step is lost on its way, and arrives another time.
fn late(server: u8) -> Action {
    // A claim and a question whether it still holds come before it, each with two places.
    Action::Step { server, kind: INSTANCES, twist: Twist { at: 4, fate: Fate::Late } }
}

/// What its owner may want of the instance with this number.
fn change_of_mind(rng: &mut StdRng, n: u8) -> Action {
    let wanted = *pick(rng, &[Wish::Stop(n), Wish::Stop(n), Wish::Stop(n), Wish::Release(n), Wish::Start(n)]);
    wish(rng, wanted)
}

/// Longer than a lease lasts.
fn past_the_lease(rng: &mut StdRng) -> Action {
    Action::Pass { ms: LEASE.millis() + rng.random_range(1..4_000) }
}

/// Somebody who is held, and what the rest of the world does to the object in his
/// hands before he goes on.
fn meanwhile(rng: &mut StdRng, me: u8, kind: u8, to: &mut Vec<Action>) {
    let wishes = *pick(rng, &[0, 1, 1, 1, 1, 2]);
    for _ in 0..wishes {
        let wanted = match kind {
            ACCOUNTS => {
                let key = rng.random();
                wish(rng, Wish::TopUp { account: HELD, key })
            }
            _ => change_of_mind(rng, HELD),
        };
        to.push(wanted);
    }
    // Half of the time the lease holds; otherwise somebody takes over.
    if rng.random_bool(0.5) {
        to.push(past_the_lease(rng));
    } else if rng.random_bool(0.3) {
        to.push(Action::Pass { ms: rng.random_range(1..2_000) });
    }
    for _ in 0..rng.random_range(0..4) {
        to.push(step(1 - me, kind));
    }
    if rng.random_bool(0.2) {
        to.push(change_of_mind(rng, HELD));
    }
    to.push(RESUME);
}

/// Something is due; whoever steps it is held, and its object changes meanwhile.
fn race(rng: &mut StdRng, to: &mut Vec<Action>) {
    let me = server(rng);
    let n = rng.random_range(0..HELD);
    match rng.random_range(0..4) {
        0 => {
            let count = rng.random_range(1..3);
            to.push(rent(rng, count));
        }
        1 => to.push(wish(rng, Wish::Start(n))),
        2 => to.push(wish(rng, Wish::Stop(n))),
        _ => to.push(wish(rng, Wish::Release(n))),
    }
    let kind = *pick(rng, &[INSTANCES, INSTANCES, INSTANCES, SEGMENTS, ACCOUNTS, IN_BULK]);
    for _ in 0..rng.random_range(0..4) {
        to.push(step(me, INSTANCES));
    }
    to.push(held(me, kind, rng.random_range(0..8)));
    meanwhile(rng, me, kind, to);
    to.push(step(1 - me, INSTANCES));
    to.push(Action::Live { ms: rng.random_range(1..5_000) });
}

/// Two who want the same cards at the same moment.
fn rush(rng: &mut StdRng, to: &mut Vec<Action>) {
    let me = server(rng);
    to.push(wish(rng, Wish::Release(0)));
    to.push(SETTLE);
    let count = rng.random_range(1..3);
    to.push(rent(rng, count));
    to.push(rent(rng, count));
    // Before the result of the placement is written, most often.
    to.push(held(me, INSTANCES, *pick(rng, &[1, 2, 2, 2, 3])));
    for _ in 0..rng.random_range(1..4) {
        to.push(step(1 - me, INSTANCES));
    }
    to.push(RESUME);
    to.push(Action::Live { ms: rng.random_range(1..5_000) });
}

/// The guard of an account is held while the account changes.
fn purse(rng: &mut StdRng, to: &mut Vec<Action>) {
    let me = server(rng);
    let (account, key) = (server(rng), rng.random());
    to.push(SETTLE);
    to.push(rent(rng, 1));
    for _ in 0..rng.random_range(0..4) {
        to.push(step(1 - me, INSTANCES));
    }
    to.push(wish(rng, Wish::TopUp { account, key }));
    to.push(held(me, ACCOUNTS, *pick(rng, &[1, 2, 2, 2, 3])));
    for _ in 0..rng.random_range(0..5) {
        to.push(step(1 - me, INSTANCES));
    }
    if rng.random_bool(0.3) {
        meanwhile(rng, me, ACCOUNTS, to);
    } else {
        to.push(RESUME);
    }
    to.push(Action::Live { ms: span(rng) });
}

/// An order of an earlier life of an instance arrives in a later one.
fn ghost(rng: &mut StdRng, to: &mut Vec<Action>) {
    let me = server(rng);
    to.push(wish(rng, Wish::Release(0)));
    to.push(SETTLE);
    to.push(rent(rng, 1));
    let lost = rng.random_range(0..3);
    to.push(step(me, INSTANCES));
    to.push(if lost == 0 { late(me) } else { step(me, INSTANCES) });
    to.push(if lost == 1 { late(me) } else { step(me, INSTANCES) });
    to.push(Action::Live { ms: rng.random_range(2_000..9_000) });
    to.push(wish(rng, Wish::Stop(0)));
    to.push(if lost == 2 { late(me) } else { step(me, INSTANCES) });
    to.push(Action::Live { ms: rng.random_range(2_000..9_000) });
    to.push(wish(rng, Wish::Start(0)));
    to.extend((0..rng.random_range(1..WAY_UP)).map(|_| step(1 - me, INSTANCES)));
    if rng.random_bool(0.5) {
        to.push(Action::Pass { ms: rng.random_range(1..3_000) });
    }
    to.push(Action::Late { order: 0, arrives: true });
    to.push(Action::Live { ms: rng.random_range(1..9_000) });
}

/// What is proven reaches nobody for more than the day in which it counts, while
/// somebody holds a result of before.
fn silence(rng: &mut StdRng, to: &mut Vec<Action>) {
    let me = server(rng);
    to.push(wish(rng, Wish::Release(0)));
    to.push(SETTLE);
    to.push(rent(rng, 1));
    to.extend((0..rng.random_range(2..WAY_UP)).map(|_| step(me, INSTANCES)));
    to.push(held(me, INSTANCES, *pick(rng, &[2, 5, 6, 6, 6])));
    to.extend((0..3).map(|node| Action::Machine { node, event: Event::NetOff }));
    to.push(Action::Pass { ms: A_DAY + rng.random_range(1..10_000_000) });
    to.extend((0..3).map(|node| Action::Machine { node, event: Event::NetOn }));
    to.extend((0..3).map(|node| Action::Hear { server: 1 - me, node, twist: GO }));
    if rng.random_bool(0.3) {
        to.push(change_of_mind(rng, HELD));
    }
    to.push(RESUME);
    to.push(Action::Live { ms: rng.random_range(1..60_000) });
}
