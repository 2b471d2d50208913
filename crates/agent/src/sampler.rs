//! Once a second: what every instance uses, whether anything goes on in it, how
//! the cards do, and the proof that all this was watched.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base::{InstanceId, Timestamp};
use devices::fake::Load;
use engine::report::CommandExit;

use crate::cards::Pids;
use crate::cgroup::Usage;
use crate::files;
use crate::meta::{Meta, Phase};
use crate::node::{Instance, Measured, Node};

/// How often ends of `on_start` are looked for.
const TICK: Duration = Duration::from_millis(250);
/// Ticks between two records of the proof of life.
const TICKS_A_PROOF: u64 = 4;
/// How often use is measured.
const SAMPLE: Duration = Duration::from_secs(1);
/// Samples between two readings of what the cards are.
const SAMPLES_A_READING: u64 = 10;
/// From this use on a card is active, percent.
const ACTIVE_CARD_PCT: i64 = 5;
/// From this use on a CPU is active, thousandths of one core.
const ACTIVE_CPU_MILLI: i64 = 50;

/// What the processes of one instance have used so far, for hosts whose control
/// groups do not count.
#[derive(Clone, Debug, Default)]
struct Counted {
    cpu_us: i64,
    memory_bytes: i64,
    threads: i64,
    /// CPU time of each process, microseconds.
    each: BTreeMap<i32, i64>,
}

impl Counted {
    fn usage(&self) -> Usage {
        Usage { cpu_us: Some(self.cpu_us), memory_bytes: Some(self.memory_bytes), processes: Some(self.threads) }
    }
}

/// Watches and samples until the task is dropped.
pub async fn run(node: Node) {
    // Apart, because a driver that hangs must not hold up the proof of life.
    tokio::join!(watch(&node), sample_all(&node));
}

fn every(period: Duration) -> tokio::time::Interval {
    let mut timer = tokio::time::interval(period);
    timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    timer
}

async fn watch(node: &Node) {
    let mut timer = every(TICK);
    for tick in 0u64.. {
        timer.tick().await;
        command_exits(node).await;
        if tick.is_multiple_of(TICKS_A_PROOF) {
            log(node.evidence().tick(node.live()), "the proof of life");
            node.forget_gone();
        }
    }
}

async fn sample_all(node: &Node) {
    let mut timer = every(SAMPLE);
    let mut before = Before::new();
    for number in 0u64.. {
        timer.tick().await;
        let (this, last) = (node.clone(), std::mem::take(&mut before));
        let facts = number.is_multiple_of(SAMPLES_A_READING);
        // Reads files and asks the driver: neither may hold up the streams.
        match tokio::task::spawn_blocking(move || sample(&this, last, facts)).await {
            Ok(next) => before = next,
            Err(error) => tracing::error!(%error, "a sample failed"),
        }
    }
}

type Before = BTreeMap<InstanceId, (Timestamp, Counted)>;

fn sample(node: &Node, before: Before, facts: bool) -> Before {
    let cards = node.cards();
    let mut next = Before::new();
    let (mut loads, mut shows) = (BTreeMap::new(), Vec::new());
    for instance in node.all() {
        let Some(meta) = instance.meta().filter(|m| m.phase == Phase::Running) else {
            continue;
        };
        let now = node.evidence().now();
        let pids = node.pids(&meta);
        let counted = count(&pids);
        let (since, last) = before.get(&instance.id).cloned().unwrap_or((now, counted.clone()));
        measure(node, &instance, &meta, now, since, &last, &counted);
        let measured = instance.measured();
        let load = Load {
            cpu_milli: measured.cpu_milli,
            // More than the machine has cannot be used: a program that keeps it busy keeps the card busy.
            cpus: meta.spec.cpus.min(node.cores()),
            memory_used_mib: measured.usage.memory_bytes.unwrap_or(0) >> 20,
            memory_limit_mib: meta.spec.memory_mib,
            pids: measured.busy.clone(),
        };
        loads.extend(meta.spec.devices.iter().map(|uuid| (uuid.clone(), load.clone())));
        let inside: Pids = measured.busy.iter().filter_map(|pid| Some((*pid, pid_inside(*pid)?))).collect();
        let show: (PathBuf, Vec<String>, Pids) = (instance.folders.opt(), meta.spec.devices.clone(), inside);
        shows.push(show);
        next.insert(instance.id.clone(), (now, counted));
    }
    cards.step(node.evidence().now(), &loads, &shows);
    cards.read_samples(node.evidence().now());
    if facts {
        cards.read_facts();
        log(node.evidence().inventory(&cards.facts()).map(drop), "the inventory");
    }
    next
}

fn log(outcome: base::Result<()>, what: &str) {
    if let Err(error) = outcome {
        tracing::error!(%error, "{what} could not be written down");
    }
}

fn measure(
    node: &Node,
    instance: &Instance,
    meta: &Meta,
    now: Timestamp,
    since: Timestamp,
    last: &Counted,
    counted: &Counted,
) {
    let old = instance.measured();
    let usage = node.usage(meta).or(counted.usage());
    let elapsed = now.since(since).micros();
    let rate = |used: i64| if elapsed > 0 { used.max(0).saturating_mul(1_000) / elapsed } else { 0 };
    let cpu_milli = match (old.at, usage.cpu_us, old.usage.cpu_us) {
        (Some(_), Some(new), Some(old)) => rate(new - old),
        _ => 0,
    };
    let busy = counted
        .each
        .iter()
        .filter(|(pid, used)| last.each.get(pid).is_some_and(|before| rate(**used - before) >= ACTIVE_CPU_MILLI));
    let bytes = instance.bytes();
    let moved = bytes.saturating_sub(old.bytes);
    let card = node.cards().samples_of(&meta.spec.devices).iter().filter_map(|s| s.gpu_util_pct).max();

    let mut active = Vec::new();
    if let Some(card) = card.filter(|pct| *pct >= ACTIVE_CARD_PCT) {
        active.push(format!("card at {card} %"));
    }
    if cpu_milli >= ACTIVE_CPU_MILLI {
        active.push(format!("CPU at {} % of a core", cpu_milli / 10));
    }
    if moved > 0 {
        active.push(format!("{moved} bytes through a session"));
    }
    let card_now = card.map_or_else(|| "no card".to_owned(), |pct| format!("card {pct} %"));
    let measured = Measured {
        at: Some(now),
        usage,
        cpu_milli,
        bytes,
        last_active_at: if active.is_empty() { old.last_active_at } else { Some(now) },
        activity: if active.is_empty() { old.activity } else { active.join(", ") },
        now: format!("{card_now}, CPU {} % of a core, {} open sessions", cpu_milli / 10, instance.sessions()),
        busy: busy.map(|(pid, _)| *pid).collect(),
    };
    instance.set_measured(measured);
}

fn count(pids: &[i32]) -> Counted {
    let tick_us = 1_000_000 / i64::try_from(rustix::param::clock_ticks_per_second()).unwrap_or(100).max(1);
    let page = i64::try_from(rustix::param::page_size()).unwrap_or(4_096);
    let mut all = Counted::default();
    for pid in pids {
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
            continue;
        };
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let field = |n: usize| rest.split_whitespace().nth(n).and_then(|f| f.parse::<i64>().ok()).unwrap_or(0);
        let own = (field(11) + field(12)) * tick_us;
        // Children that were collected count with their parent, as nobody else has them.
        all.cpu_us += own + (field(13) + field(14)) * tick_us;
        all.threads += field(17);
        all.memory_bytes += field(21) * page;
        all.each.insert(*pid, own);
    }
    all
}

/// Number of a process in the innermost namespace that it is in.
fn pid_inside(pid: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|l| l.strip_prefix("NSpid:"))?.split_whitespace().last()?.parse().ok()
}

async fn command_exits(node: &Node) {
    for instance in node.all() {
        let waits = |m: &Meta| m.phase == Phase::Running && m.spec.on_start.is_some() && !m.on_start_reported;
        if instance.meta().is_some_and(|m| waits(&m)) {
            command_exit(node, &instance).await;
        }
    }
}

async fn command_exit(node: &Node, instance: &Arc<Instance>) {
    let Some(text) = files::read_untrusted(&instance.folders.run().join("on-start.exit"), 32) else {
        return;
    };
    let Ok(code) = String::from_utf8_lossy(&text).trim().parse::<i32>() else {
        return;
    };
    // Something is being done to it; the next tick looks again.
    let Ok(_op) = instance.op.try_lock() else { return };
    let Some(meta) = instance.meta().filter(|m| m.phase == Phase::Running && !m.on_start_reported) else {
        return;
    };
    let reference = &meta.spec.instance;
    let exit = CommandExit {
        id: reference.id.clone(),
        generation: reference.generation,
        at: node.evidence().now(),
        code: i64::from(code),
    };
    log(node.evidence().command_exit(exit), "the end of an on-start command");
    log(node.on_start_reported(instance, meta), "the end of an on-start command");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_counts_what_it_uses() {
        let me = i32::try_from(std::process::id()).unwrap();
        let counted = count(&[me, -1]);
        assert!(counted.memory_bytes > 0 && counted.threads >= 1);
        assert_eq!(counted.each.len(), 1);
        assert!(pid_inside(me).is_some());
    }
}
