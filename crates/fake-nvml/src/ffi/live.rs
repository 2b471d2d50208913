//! How a card does now.

use std::ffi::{c_int, c_uint, c_ulonglong};

use super::call::{Answer, Code, Out, bytes, unsigned};
use super::layout::{Memory, MemoryV2, Temperature, Utilization, version_word};
use super::limits::put_clock;
use crate::state::Card;

/// `NVML_CLOCK_ID_CURRENT` and `NVML_CLOCK_ID_CUSTOMER_BOOST_MAX`.
const CURRENT: c_int = 0;
const BOOST_MAX: c_int = 3;

/// Reasons for the present clock: none, or that nothing runs.
const REASON_IDLE: c_ulonglong = 1;

/// Length of the period that utilisation speaks of, microseconds.
const PERIOD_US: c_uint = 166_667;

fn memory(card: &Card) -> Memory {
    let total = bytes(card.memory_mib);
    let used = bytes(card.live.memory_used_mib).min(total);
    Memory { total, free: total - used, used }
}

fn put_memory_v2(card: &Card, out: Out<MemoryV2>) -> Answer {
    // The header's text asks for the plain 2, its macro makes the full word.
    let version = out.get()?.version;
    if version != version_word::<MemoryV2>(2) && version != 2 {
        return Err(Code::ArgumentVersionMismatch);
    }
    let Memory { total, free, used } = memory(card);
    out.put(MemoryV2 { version, total, reserved: 0, free, used })
}

pub(super) fn utilization(card: &Card) -> Utilization {
    let memory = (card.live.memory_used_mib.max(0) * 100).checked_div(card.memory_mib.max(1)).unwrap_or(0);
    let gpu = unsigned(card.live.gpu_util_pct).min(100);
    // The memory figure of NVML is bus traffic, not fill: none without a kernel.
    Utilization { gpu, memory: unsigned(memory).min(gpu) }
}

fn put_temperature(card: &Card, out: Out<Temperature>) -> Answer {
    let asked = out.get()?;
    if asked.version != version_word::<Temperature>(1) {
        return Err(Code::ArgumentVersionMismatch);
    }
    out.put(Temperature { celsius: unsigned(card.live.temperature_c) as c_int, ..asked })
}

fn busy(card: &Card) -> bool {
    card.live.gpu_util_pct > 0
}

fn put_video(utilization: Out<c_uint>, period: Out<c_uint>) -> Answer {
    utilization.put(0)?;
    period.put(PERIOD_US)
}

fn fan(card: &Card) -> Result<c_uint, Code> {
    card.live.fan_pct.map(unsigned).ok_or(Code::NotSupported)
}

card_functions! {
    fn nvmlDeviceGetUtilizationRates(out: Out<Utilization>) |card| out.put(utilization(card));
    fn nvmlDeviceGetMemoryInfo(out: Out<Memory>) |card| out.put(memory(card));
    fn nvmlDeviceGetMemoryInfo_v2(out: Out<MemoryV2>) |card| put_memory_v2(card, out);
    fn nvmlDeviceGetPowerUsage(out: Out<c_uint>) |card| out.put(unsigned(card.live.power_mw));
    fn nvmlDeviceGetClockInfo(kind: c_int, out: Out<c_uint>) |card| {
        put_clock(kind, card.live.sm_clock_mhz, card.live.mem_clock_mhz, out)
    };
    fn nvmlDeviceGetClock(kind: c_int, id: c_int, out: Out<c_uint>) |card| match id {
        CURRENT => put_clock(kind, card.live.sm_clock_mhz, card.live.mem_clock_mhz, out),
        BOOST_MAX => put_clock(kind, card.max_sm_clock_mhz, card.max_mem_clock_mhz, out),
        _ => Err(Code::NotSupported),
    };
    fn nvmlDeviceGetTemperature(sensor: c_int, out: Out<c_uint>) |card| match sensor {
        0 => out.put(unsigned(card.live.temperature_c)),
        _ => Err(Code::InvalidArgument),
    };
    fn nvmlDeviceGetTemperatureV(out: Out<Temperature>) |card| put_temperature(card, out);
    fn nvmlDeviceGetFanSpeed(out: Out<c_uint>) |card| out.put(fan(card)?);
    fn nvmlDeviceGetFanSpeed_v2(_fan: c_uint, out: Out<c_uint>) |card| out.put(fan(card)?);
    fn nvmlDeviceGetNumFans(out: Out<c_uint>) |card| out.put(c_uint::from(card.live.fan_pct.is_some()));
    fn nvmlDeviceGetPerformanceState(out: Out<c_uint>) |card| out.put(if busy(card) { 0 } else { 8 });
    fn nvmlDeviceGetPowerState(out: Out<c_uint>) |card| out.put(if busy(card) { 0 } else { 8 });
    fn nvmlDeviceGetCurrentClocksEventReasons(out: Out<c_ulonglong>) |card| {
        out.put(if busy(card) { 0 } else { REASON_IDLE })
    };
    fn nvmlDeviceGetCurrentClocksThrottleReasons(out: Out<c_ulonglong>) |card| {
        out.put(if busy(card) { 0 } else { REASON_IDLE })
    };
    fn nvmlDeviceGetEncoderUtilization(out: Out<c_uint>, period: Out<c_uint>) |_card| put_video(out, period);
    fn nvmlDeviceGetDecoderUtilization(out: Out<c_uint>, period: Out<c_uint>) |_card| put_video(out, period);
}
