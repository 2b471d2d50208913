//! A whole life of an instance with one disturbance in it.

use super::*;
use crate::mix::event;

/// Which of them is that first look: a write of its own, and no order.
const LOOK: usize = 3;

/// Steps from an accepted stop or release to the end.
const WAY_DOWN: usize = 3;

/// From a rent to a stop or a release, perhaps several times, with exactly one disturbance.
pub(super) fn add(rng: &mut StdRng, to: &mut Vec<Action>) {
    let me = server(rng);
    if rng.random_bool(0.5) {
        // Room for it, and money.
        to.push(wish(rng, Wish::Release(0)));
        let key = rng.random();
        to.push(wish(rng, Wish::TopUp { account: 0, key }));
    }
    to.push(SETTLE);
    let count = *pick(rng, &[1, 1, 1, 2]);
    to.push(rent(rng, count));
    let ways = rng.random_range(1..5);
    let trouble = rng.random_range(0..ways);
    for way in 0..ways {
        let up = way % 2 == 0;
        if way > 0 {
            let wanted = match (up, rng.random_bool(0.7)) {
                (true, _) => Wish::Start(0),
                (false, true) => Wish::Stop(0),
                (false, false) => Wish::Release(0),
            };
            to.push(wish(rng, wanted));
            // The meter has stopped or not begun: whatever is charged of this is wrong.
            if rng.random_bool(0.4) {
                to.push(Action::Pass { ms: rng.random_range(1..3_000) });
            }
        }
        stretch(rng, me, up, way == trouble, to);
        to.push(Action::Live { ms: rng.random_range(500..20_000) });
    }
    if rng.random_bool(0.5) {
        to.push(Action::Live { ms: span(rng) });
    }
}

/// The steps of one way up or down; one of them is disturbed if `troubled`.
fn stretch(rng: &mut StdRng, me: u8, up: bool, troubled: bool, to: &mut Vec<Action>) {
    let steps = if up { WAY_UP } else { WAY_DOWN };
    if !troubled {
        // Mostly the site does it by itself.
        if rng.random_bool(0.3) {
            to.extend((0..steps).map(|_| step(me, INSTANCES)));
        }
        return;
    }
    // The step after which an instance would sleep is the one that can sleep over a wish.
    let at = if up { *pick(rng, &[0, 1, 2, LOOK, LOOK, LOOK]) } else { rng.random_range(0..WAY_DOWN - 1) };
    to.extend((0..at).map(|_| step(me, INSTANCES)));
    let place =
        if up && at == LOOK { *pick(rng, &[1, 2, 2, 2, 2, 3]) } else { *pick(rng, &[0, 1, 2, 2, 3, 4, 4, 5, 6, 7]) };
    match rng.random_range(0..10) {
        0..5 => {
            to.push(held(me, INSTANCES, place));
            meanwhile(rng, me, INSTANCES, to);
        }
        5 => {
            let (node, event) = (rng.random(), event(rng));
            to.push(Action::Machine { node, event });
        }
        6 => {
            let node = rng.random();
            to.push(Action::Machine { node, event: Event::Kill(rng.random()) });
        }
        _ => {
            let fate = *pick(rng, &[Fate::Die, Fate::Lose, Fate::Late, Fate::Late, Fate::Refuse(0)]);
            to.push(Action::Step { server: me, kind: INSTANCES, twist: Twist { at: place, fate } });
            if rng.random_bool(0.5) {
                to.push(past_the_lease(rng));
            }
            // The order arrives now, or in a later life of the same instance.
            if rng.random_bool(0.5) {
                to.push(Action::Late { order: 0, arrives: true });
            }
        }
    }
    to.extend((at..steps).map(|_| step(me, INSTANCES)));
}
