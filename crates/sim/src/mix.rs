//! Histories from seeds: single actions at random, and scenes between them.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use store::lease::LEASE;

use crate::action::{Action, Event, Fate, IN_BULK, Twist, Wish};
use crate::scene;

/// How often a scene begins instead of a single action: a scene has about ten
/// actions, so this makes about half of all.
const SCENES: f64 = 0.09;

/// As many actions as asked for, all from one seed; the last is a [`Action::Rest`].
pub fn history(seed: u64, steps: usize) -> Vec<Action> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut actions = Vec::new();
    while actions.len() + 1 < steps {
        if rng.random_bool(SCENES) {
            scene::add(&mut rng, &mut actions);
        } else {
            actions.push(action(&mut rng));
        }
    }
    actions.truncate(steps.saturating_sub(1));
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

/// Something befalls a machine.
pub(crate) fn event(rng: &mut StdRng) -> Event {
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

/// One of these.
pub(crate) fn pick<'t, T>(rng: &mut StdRng, of: &'t [T]) -> &'t T {
    &of[rng.random_range(0..of.len())]
}

/// From a moment to days, milliseconds; most often less than a lease.
pub(crate) fn span(rng: &mut StdRng) -> i64 {
    let lease = LEASE.millis();
    match rng.random_range(0..100) {
        0..40 => rng.random_range(1..1_500),
        40..72 => rng.random_range(1_000..lease),
        72..88 => rng.random_range(lease..130_000),
        88..95 => rng.random_range(600_000..9_000_000),
        95..98 => rng.random_range(9_000_000..80_000_000),
        _ => rng.random_range(80_000_000..200_000_000),
    }
}

fn action(rng: &mut StdRng) -> Action {
    let server = rng.random_range(0..2);
    match rng.random_range(0..1_000) {
        0..400 => Action::Step { server, kind: *pick(rng, &[0, 0, 0, 0, 0, 0, 1, 2, 2, IN_BULK]), twist: twist(rng) },
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
        assert_eq!(one.len(), 200);
        assert_eq!(one, history(7, 200));
        assert_ne!(one, history(8, 200));
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Action>>(&text).unwrap(), one);
    }
}
