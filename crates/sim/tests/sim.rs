//! Histories from seeds: every law holds in each, and each seed has one history.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::time::Duration;

use suanli_sim::{Action, Fate, HELD, Twist, Wish, history, shorten, tell};

/// Seeds of this run: `SIM_SEEDS` and `SIM_STEPS` ask for more.
fn from_env(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// Lives through a history; a broken law is told with the shortest history that breaks it.
fn lives(seed: u64, actions: &[Action]) {
    let told = tell(seed, actions).unwrap();
    let Some((at, law)) = told.broken else { return };
    let (shortest, law) = shorten(seed, &actions[..=at], &law, Duration::from_secs(60)).unwrap();
    let mut text = format!("seed {seed} breaks a law: {law}\n");
    for line in tell(seed, &shortest).unwrap().lines {
        writeln!(text, "  {line}").unwrap();
    }
    let json = serde_json::to_string(&shortest).unwrap();
    panic!("{text}replay it with `suanli-sim --replay FILE`, where FILE has:\n{{\"seed\":{seed},\"actions\":{json}}}");
}

#[test]
fn laws_hold_in_every_history() {
    let steps = usize::try_from(from_env("SIM_STEPS", 110)).unwrap();
    for seed in 1..=from_env("SIM_SEEDS", 10) {
        lives(seed, &history(seed, steps));
    }
}

/// Every history that ever broke a law, shortened; none may again.
#[test]
fn what_broke_a_law_once_does_not_again() {
    #[derive(serde::Deserialize)]
    struct File {
        seed: u64,
        actions: Vec<Action>,
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let File { seed, actions } = serde_json::from_str(&text).unwrap();
        lives(seed, &actions);
    }
}

/// Where the races are: a wish reaches the very instance that somebody has in his hands.
#[test]
fn a_wish_can_aim_at_what_is_held() {
    let go = Twist { at: 0, fate: Fate::Go };
    let wish = |wish| Action::Wish { server: 0, wish, twist: go };
    let rent = wish(Wish::Rent { account: 0, per_ms: 1, count: 1, rules: 7, key: None });
    let held = Action::Step { server: 0, kind: 0, twist: Twist { at: 2, fate: Fate::Hold } };
    let stopped = |n: u8, actions: &[Action]| {
        let told = tell(1, &[actions, &[wish(Wish::Stop(n))]].concat()).unwrap();
        let id = |line: &&String| line.find("ins-").map(|at| line[at..at + 30].to_owned());
        let asked: Vec<_> = told.lines.iter().filter(|l| l.contains("is asked")).filter_map(|l| id(&l)).collect();
        (asked.first().cloned(), asked.last().cloned())
    };
    let (oldest, aimed) = stopped(HELD, &[rent, held, rent]);
    assert!(oldest.is_some());
    assert_eq!(aimed, oldest, "the held one is the older one");
    let (oldest, aimed) = stopped(0, &[rent, held, rent]);
    assert_ne!(aimed, oldest, "0 is the youngest");
    let (oldest, aimed) = stopped(HELD, &[rent, rent]);
    assert_ne!(aimed, oldest, "with nobody held it is one of the youngest, not the oldest");
}

#[test]
fn one_seed_has_one_history_to_the_byte() {
    let actions = history(42, 120);
    let (one, two) = (tell(42, &actions).unwrap(), tell(42, &actions).unwrap());
    assert!(one.lines == two.lines, "the histories differ");
    assert_eq!((&one.history, &one.tables), (&two.history, &two.tables));
    let other = tell(43, &actions).unwrap();
    assert_ne!(one.tables, other.tables, "ids come from the seed");
}
