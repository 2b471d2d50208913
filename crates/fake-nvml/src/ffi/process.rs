//! Which programs use a card.

use std::ffi::{c_int, c_uint, c_ulonglong};
use std::time::{SystemTime, UNIX_EPOCH};

use super::call::{Answer, Code, Handle, Out, bytes, on_card};
use super::layout::{ProcessUtilization, ProcessV1, ProcessV2};
use super::live::utilization;
use crate::state::{Card, Process};

/// "Not in a MIG instance".
const NO_INSTANCE: c_uint = u32::MAX;

/// The header's protocol: the client says how many fit, we say how many there
/// are, and nothing is written unless all fit.
fn put<T: Copy>(rows: &[T], count: Out<c_uint>, infos: Out<T>) -> Answer {
    let room = count.get()?;
    count.put(rows.len() as c_uint)?;
    if room == 0 && rows.is_empty() { Ok(()) } else { infos.put_all(rows, room) }
}

fn rows<T>(card: &Card, row: impl Fn(c_uint, u64) -> T) -> Vec<T> {
    let pid = |process: &Process| c_uint::try_from(process.pid).unwrap_or(0);
    card.live.processes.iter().map(|p| row(pid(p), bytes(p.memory_mib))).collect()
}

/// The client compares these with times that it was told before.
// Nothing is decided by this clock: it is a column of the answer.
#[allow(clippy::disallowed_methods)]
fn now_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The card's utilisation dealt out over its programs.
fn put_utilization(card: &Card, out: Out<ProcessUtilization>, count: Out<c_uint>, seen: c_ulonglong) -> Answer {
    let at = now_micros();
    let all = utilization(card);
    let programs = card.live.processes.len() as c_uint;
    if programs == 0 || all.gpu == 0 || seen > at {
        // The header's word for "no new samples".
        return Err(Code::NotFound);
    }
    let part = |whole: c_uint| whole.checked_div(programs).unwrap_or(0);
    let row =
        |pid, _| ProcessUtilization { pid, at, sm: part(all.gpu), memory: part(all.memory), encoder: 0, decoder: 0 };
    put(&rows(card, row), count, out)
}

card_functions! {
    fn nvmlDeviceGetProcessUtilization(out: Out<ProcessUtilization>, count: Out<c_uint>, seen: c_ulonglong) |card| {
        put_utilization(card, out, count, seen)
    };
}

fn put_compute(device: Handle, count: Out<c_uint>, infos: Out<ProcessV2>) -> c_int {
    on_card(device, |card, _| {
        let row = |pid, used| ProcessV2 { pid, used, gpu_instance: NO_INSTANCE, compute_instance: NO_INSTANCE };
        put(&rows(card, row), count, infos)
    })
}

fn put_none(device: Handle, count: Out<c_uint>) -> c_int {
    on_card(device, |_, _| count.put(0))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetComputeRunningProcesses(d: Handle, count: Out<c_uint>, infos: Out<ProcessV1>) -> c_int {
    on_card(d, |card, _| put(&rows(card, |pid, used| ProcessV1 { pid, used }), count, infos))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetComputeRunningProcesses_v2(d: Handle, n: Out<c_uint>, i: Out<ProcessV2>) -> c_int {
    put_compute(d, n, i)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(d: Handle, n: Out<c_uint>, i: Out<ProcessV2>) -> c_int {
    put_compute(d, n, i)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetGraphicsRunningProcesses(d: Handle, n: Out<c_uint>, _i: Out<ProcessV1>) -> c_int {
    put_none(d, n)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v2(d: Handle, n: Out<c_uint>, _i: Out<ProcessV2>) -> c_int {
    put_none(d, n)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v3(d: Handle, n: Out<c_uint>, _i: Out<ProcessV2>) -> c_int {
    put_none(d, n)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMPSComputeRunningProcesses_v3(d: Handle, n: Out<c_uint>, _i: Out<ProcessV2>) -> c_int {
    put_none(d, n)
}
