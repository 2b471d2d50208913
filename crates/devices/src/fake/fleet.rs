//! All pretended cards of a machine, moving together.

use std::collections::BTreeMap;
use std::path::Path;

use base::{Error, Result, Span};
use fake_nvml::state::{Process, SWITCH, State};

use super::cards::cards;
use super::library::replace;
use super::model::{Load, Sim};
use super::profile::Profile;
use super::trace;

/// The pretended cards of one machine. Deterministic: what they show depends only
/// on the profile and on the times and loads of the steps.
#[derive(Clone, Debug)]
pub struct FakeFleet {
    profile: Profile,
    sims: Vec<Sim>,
    now: Span,
}

impl FakeFleet {
    /// The cards of `profile`, idle.
    pub fn new(profile: Profile) -> Self {
        let sims = cards(&profile).into_iter().map(Sim::new).collect();
        let mut fleet = Self { profile, sims, now: Span::ZERO };
        fleet.step(Span::ZERO, &BTreeMap::new());
        fleet
    }

    /// UUIDs of the cards in order.
    pub fn uuids(&self) -> impl Iterator<Item = &str> {
        self.sims.iter().map(|sim| sim.card.uuid.as_str())
    }

    /// Moves the cards to `now_since_start`, under `loads` by UUID. A card without
    /// a load idles. Time that goes backwards counts as none.
    pub fn step(&mut self, now_since_start: Span, loads: &BTreeMap<String, Load>) {
        let micros = now_since_start.micros().saturating_sub(self.now.micros()).max(0);
        self.now = self.now.max(now_since_start);
        let dt = micros as f64 / 1e6;
        for (place, sim) in self.sims.iter_mut().enumerate() {
            let show = trace::show(self.profile.traces(), place, self.now);
            let load = loads.get(&sim.card.uuid);
            sim.step(dt, load, show);
        }
    }

    /// What the library should answer now, for all cards.
    pub fn state(&self) -> State {
        State {
            fake: true,
            driver: self.profile.driver().to_owned(),
            nvml: format!("12.{}", self.profile.driver()),
            cuda: self.profile.cuda().to_owned(),
            cards: self.sims.iter().map(|sim| sim.card.clone()).collect(),
        }
    }

    /// What the library should answer inside an instance that holds `uuids`:
    /// these cards alone, and links among them. `pid_inside` translates a process
    /// id of the machine into the instance's; programs without one are left out.
    pub fn state_of(&self, uuids: &[String], pid_inside: impl Fn(i32) -> Option<i32>) -> State {
        let mut state = self.state();
        state.cards.retain(|card| uuids.contains(&card.uuid));
        for card in &mut state.cards {
            card.links.retain(|link| link.peer == SWITCH || uuids.contains(&link.peer));
            let inside = |p: Process| pid_inside(p.pid).map(|pid| Process { pid, ..p });
            card.live.processes = card.live.processes.iter().copied().filter_map(inside).collect();
        }
        state
    }

    /// Writes the state of all cards to `path` in one step, readable by everybody.
    ///
    /// # Errors
    /// `host-incomplete` or `disk-full` when the file cannot be written.
    pub fn write_state(&self, path: &Path) -> Result<()> {
        write(&self.state(), path)
    }

    /// Writes [`state_of`](Self::state_of) to `path` in the same way. The library
    /// sees a replaced file only through its directory, so mount that into the
    /// instance, not the file.
    ///
    /// # Errors
    /// As [`write_state`](Self::write_state).
    pub fn write_state_of(&self, path: &Path, uuids: &[String], pid_inside: impl Fn(i32) -> Option<i32>) -> Result<()> {
        write(&self.state_of(uuids, pid_inside), path)
    }
}

fn write(state: &State, path: &Path) -> Result<()> {
    let text = state.to_toml().map_err(Error::internal)?;
    replace(path, text.as_bytes(), 0o644)
}

#[cfg(test)]
mod tests {
    use fake_nvml::state::Card;

    use super::*;

    fn fleet() -> FakeFleet {
        FakeFleet::new(Profile::builtin("rtx4090x8").unwrap())
    }

    /// A load on the first card only.
    fn loads(fleet: &FakeFleet, load: Load) -> BTreeMap<String, Load> {
        BTreeMap::from([(fleet.state().cards[0].uuid.clone(), load)])
    }

    fn full() -> Load {
        Load { cpu_milli: 16_000, cpus: 16, memory_used_mib: 32_000, memory_limit_mib: 64_000, pids: vec![10, 11] }
    }

    fn after(fleet: &mut FakeFleet, secs: i64, loads: &BTreeMap<String, Load>) -> Card {
        fleet.step(Span::from_secs(secs), loads);
        fleet.state().cards[0].clone()
    }

    #[test]
    fn a_card_that_nobody_holds_idles() {
        for card in fleet().state().cards {
            let live = card.live;
            assert_eq!((live.gpu_util_pct, live.memory_used_mib, live.power_mw), (0, 0, 36_000));
            assert_eq!((live.sm_clock_mhz, live.temperature_c, live.lost), (210, 32, false));
        }
    }

    #[test]
    fn a_loaded_card_works_heats_up_and_cools_down_again() {
        let mut fleet = fleet();
        let loads = loads(&fleet, full());
        let early = after(&mut fleet, 3, &loads).live;
        assert!((80..95).contains(&early.gpu_util_pct), "{early:?}");
        assert_eq!(early.sm_clock_mhz, 2_520);
        assert!((33..45).contains(&early.temperature_c), "heat must lag: {early:?}");
        let late = after(&mut fleet, 300, &loads).live;
        assert_eq!((late.gpu_util_pct, late.power_mw, late.temperature_c), (100, 450_000, 78));
        assert_eq!(late.memory_used_mib, 400 + (24_564 - 400) / 2);
        assert_eq!(late.processes.iter().map(|p| p.pid).collect::<Vec<_>>(), [10, 11]);
        let idle = after(&mut fleet, 600, &BTreeMap::new()).live;
        assert_eq!((idle.gpu_util_pct, idle.memory_used_mib, idle.temperature_c), (0, 0, 32));
        assert_eq!(idle.processes, []);
    }

    #[test]
    fn neighbours_of_a_loaded_card_stay_idle() {
        let mut fleet = fleet();
        let before = fleet.state();
        let loads = loads(&fleet, full());
        after(&mut fleet, 60, &loads);
        assert_eq!(fleet.state().cards[1..], before.cards[1..]);
    }

    #[test]
    fn utilisation_is_the_share_of_the_cores() {
        let mut fleet = fleet();
        let quarter = loads(&fleet, Load { cpu_milli: 4_000, ..full() });
        assert_eq!(after(&mut fleet, 60, &quarter).live.gpu_util_pct, 25);
        let nonsense = loads(&fleet, Load { cpu_milli: i64::MAX, cpus: 0, memory_limit_mib: -1, ..full() });
        let live = after(&mut fleet, 120, &nonsense).live;
        assert_eq!((live.gpu_util_pct, live.memory_used_mib), (0, 400));
    }

    #[test]
    fn the_same_steps_give_the_same_cards_and_small_steps_the_same_as_large() {
        let (mut a, mut b, mut c) = (fleet(), fleet(), fleet());
        let loads = loads(&a, full());
        for ms in (0..=8_000).step_by(250) {
            a.step(Span::from_millis(ms), &loads);
            b.step(Span::from_millis(ms), &loads);
        }
        assert_eq!(a.state(), b.state());
        c.step(Span::from_secs(8), &loads);
        assert_eq!(a.state().cards[0].live.gpu_util_pct, c.state().cards[0].live.gpu_util_pct);
        let before = a.state();
        a.step(Span::from_secs(1), &loads);
        assert_eq!(a.state(), before, "time went backwards");
    }

    #[test]
    fn a_script_overrides_the_load() {
        let text = "name='t'\nfake=true\nseed=1\n[[trace]]\ncards=[0]\npoints=[\
            {at='10s', gpu_util_pct=0, memory_used_mib=123}, {at='20s', lost=true}, {at='30s', follow_load=true}]\n";
        let model = include_str!("../../../../profiles/rtx4090x8.toml").split_once("[[model]]").unwrap().1;
        let mut fleet = FakeFleet::new(Profile::parse(&format!("{text}[[model]]{model}"), "t").unwrap());
        let loads = loads(&fleet, full());
        assert!(after(&mut fleet, 9, &loads).live.gpu_util_pct > 90);
        let scripted = after(&mut fleet, 10, &loads).live;
        assert_eq!((scripted.gpu_util_pct, scripted.memory_used_mib, scripted.power_mw), (0, 123, 36_000));
        assert!(after(&mut fleet, 25, &loads).live.lost);
        let back = after(&mut fleet, 40, &loads).live;
        assert_eq!((back.lost, back.gpu_util_pct), (false, 100));
    }

    #[test]
    fn an_instance_sees_its_own_cards_links_and_programs() {
        let mut fleet = FakeFleet::new(Profile::builtin("a100-80g-nvlink-x4").unwrap());
        let loads = loads(&fleet, full());
        after(&mut fleet, 5, &loads);
        let uuids: Vec<String> = [0, 2].map(|place| fleet.state().cards[place].uuid.clone()).into();
        let state = fleet.state_of(&uuids, |pid| (pid == 11).then_some(1));
        assert_eq!(state.cards.iter().map(|card| card.uuid.clone()).collect::<Vec<_>>(), uuids);
        assert!(state.cards.iter().all(|card| card.links.is_empty()), "a link to a card of somebody else");
        assert_eq!(state.cards[0].live.processes.iter().map(|p| p.pid).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn the_file_is_whole_and_for_everybody() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cards.toml");
        let mut fleet = fleet();
        fleet.write_state(&path).unwrap();
        fleet.step(Span::from_secs(1), &BTreeMap::new());
        fleet.write_state(&path).unwrap();
        assert_eq!(State::parse(&std::fs::read_to_string(&path).unwrap()).unwrap(), fleet.state());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "leftovers");
    }
}
