//! How one pretended card reacts to what the instance that holds it does.

use fake_nvml::state::{Card, Live, Process};

use super::trace::Show;

/// What the instance that holds a card does at the moment. Give the same load to
/// each card of an instance: a load speaks of shares, which do not add up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Thousandths of a processor core in use.
    pub cpu_milli: i64,
    /// Processor cores that the instance may use.
    pub cpus: i64,
    /// Main memory in use, MiB.
    pub memory_used_mib: i64,
    /// Main memory that the instance may use, MiB.
    pub memory_limit_mib: i64,
    /// Programs that run in the instance.
    pub pids: Vec<i32>,
}

/// Seconds until utilisation has moved two thirds of the way.
const UTIL_LAG_S: f64 = 1.5;
/// The same for temperature.
const HEAT_LAG_S: f64 = 20.0;

const IDLE_POWER_SHARE: f64 = 0.08;
const IDLE_SM_MHZ: i64 = 210;
const IDLE_MEM_MHZ: i64 = 405;
const IDLE_C: f64 = 32.0;
const FULL_C: f64 = 78.0;

/// What a program costs before it stores anything, MiB.
const CONTEXT_MIB: i64 = 400;

/// A card and what moves slowly in it.
#[derive(Clone, Debug)]
pub(super) struct Sim {
    pub(super) card: Card,
    util_pct: f64,
    heat_c: f64,
}

impl Sim {
    /// A card that has idled long.
    pub(super) fn new(card: Card) -> Self {
        let mut sim = Self { card, util_pct: 0.0, heat_c: IDLE_C };
        sim.step(0.0, None, Show::default());
        sim
    }

    /// Lets `dt` seconds pass under a load. Depends on nothing else.
    pub(super) fn step(&mut self, dt: f64, load: Option<&Load>, show: Show) {
        self.util_pct = match show.gpu_util_pct {
            Some(pct) => pct.clamp(0, 100) as f64,
            None => toward(self.util_pct, 100.0 * load.map_or(0.0, cpu_share), dt, UTIL_LAG_S),
        };
        let busy = self.util_pct / 100.0;
        self.heat_c = toward(self.heat_c, IDLE_C + busy * (FULL_C - IDLE_C), dt, HEAT_LAG_S);

        let card = &self.card;
        let gpu_util_pct = self.util_pct.round() as i64;
        let running = gpu_util_pct > 0;
        let temperature_c = show.temperature_c.unwrap_or(self.heat_c.round() as i64);
        let memory = show.memory_used_mib.unwrap_or_else(|| load.map_or(0, |load| memory_used(card, load)));
        let memory_used_mib = memory.clamp(0, card.memory_mib);
        let limit_mw = card.power_limit_w as f64 * 1_000.0;
        let power = limit_mw * (IDLE_POWER_SHARE + busy * (1.0 - IDLE_POWER_SHARE));
        let live = Live {
            gpu_util_pct,
            memory_used_mib,
            power_mw: show.power_mw.unwrap_or(power.round() as i64),
            sm_clock_mhz: show.sm_clock_mhz.unwrap_or(clock(running, IDLE_SM_MHZ, card.max_sm_clock_mhz)),
            mem_clock_mhz: clock(running, IDLE_MEM_MHZ, card.max_mem_clock_mhz),
            temperature_c,
            fan_pct: card.live.fan_pct.map(|_| fan(temperature_c)),
            lost: show.lost.unwrap_or(false),
            processes: load.map_or_else(Vec::new, |load| processes(load, memory_used_mib)),
        };
        self.card.live = live;
    }
}

/// First-order lag. Two steps of one second end where one of two seconds does.
fn toward(from: f64, to: f64, dt: f64, lag: f64) -> f64 {
    from + (to - from) * -(-dt / lag).exp_m1()
}

fn share(part: i64, whole: i64) -> f64 {
    if whole <= 0 { 0.0 } else { (part as f64 / whole as f64).clamp(0.0, 1.0) }
}

fn cpu_share(load: &Load) -> f64 {
    share(load.cpu_milli, load.cpus.saturating_mul(1_000))
}

fn memory_used(card: &Card, load: &Load) -> i64 {
    if load.pids.is_empty() {
        return 0;
    }
    let room = (card.memory_mib - CONTEXT_MIB).max(0) as f64;
    CONTEXT_MIB + (room * share(load.memory_used_mib, load.memory_limit_mib)).round() as i64
}

fn clock(running: bool, idle: i64, full: i64) -> i64 {
    if running { full } else { idle.min(full) }
}

/// Off the floor of 30 % from 40 °C on, all out at 90 °C.
fn fan(temperature_c: i64) -> i64 {
    (30 + (temperature_c - 40) * 70 / 50).clamp(30, 100)
}

/// The card's memory dealt out over the programs.
fn processes(load: &Load, memory_used_mib: i64) -> Vec<Process> {
    let count = i64::try_from(load.pids.len()).unwrap_or(i64::MAX).max(1);
    load.pids.iter().map(|pid| Process { pid: *pid, memory_mib: memory_used_mib / count }).collect()
}
