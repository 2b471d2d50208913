//! Settings and limits of a card.

use std::ffi::{c_int, c_uint, c_ulonglong};

use super::call::{Answer, Code, Out, unsigned};
use crate::state::Card;

/// `NVML_CLOCK_MEM`; the other clock types follow the multiprocessors.
pub(super) const CLOCK_MEM: c_int = 2;
const CLOCK_TYPES: c_int = 4;

/// Which of two clocks a client asks for, MHz.
pub(super) fn put_clock(kind: c_int, sm: i64, mem: i64, out: Out<c_uint>) -> Answer {
    match kind {
        CLOCK_MEM => out.put(unsigned(mem)),
        0..CLOCK_TYPES => out.put(unsigned(sm)),
        _ => Err(Code::InvalidArgument),
    }
}

fn milliwatts(card: &Card) -> c_uint {
    unsigned(card.power_limit_w.saturating_mul(1_000))
}

/// °C of the threshold that a client asks for. Shutdown, slowdown, memory, core.
fn threshold(kind: c_int) -> Result<c_uint, Code> {
    match kind {
        0 => Ok(98),
        1 => Ok(93),
        2 => Ok(105),
        3 => Ok(89),
        _ => Err(Code::NotSupported),
    }
}

card_functions! {
    fn nvmlDeviceGetPowerManagementMode(out: Out<c_uint>) |_card| out.put(1);
    fn nvmlDeviceGetPowerManagementLimit(out: Out<c_uint>) |card| out.put(milliwatts(card));
    fn nvmlDeviceGetPowerManagementDefaultLimit(out: Out<c_uint>) |card| out.put(milliwatts(card));
    fn nvmlDeviceGetEnforcedPowerLimit(out: Out<c_uint>) |card| out.put(milliwatts(card));
    fn nvmlDeviceGetPowerManagementLimitConstraints(min: Out<c_uint>, max: Out<c_uint>) |card| {
        min.put(milliwatts(card) / 3)?;
        max.put(milliwatts(card))
    };
    fn nvmlDeviceGetMaxClockInfo(kind: c_int, out: Out<c_uint>) |card| {
        put_clock(kind, card.max_sm_clock_mhz, card.max_mem_clock_mhz, out)
    };
    fn nvmlDeviceGetMaxCustomerBoostClock(kind: c_int, out: Out<c_uint>) |card| {
        put_clock(kind, card.max_sm_clock_mhz, card.max_mem_clock_mhz, out)
    };
    fn nvmlDeviceGetTemperatureThreshold(kind: c_int, out: Out<c_uint>) |_card| out.put(threshold(kind)?);
    fn nvmlDeviceGetEccMode(current: Out<c_uint>, pending: Out<c_uint>) |card| {
        let on = c_uint::from(card.ecc.ok_or(Code::NotSupported)?);
        current.put(on)?;
        pending.put(on)
    };
    fn nvmlDeviceGetTotalEccErrors(_error: c_int, _counter: c_int, out: Out<c_ulonglong>) |card| {
        if card.ecc == Some(true) { out.put(0) } else { Err(Code::NotSupported) }
    };
    fn nvmlDeviceGetMaxPcieLinkGeneration(out: Out<c_uint>) |card| out.put(unsigned(card.pcie_gen));
    fn nvmlDeviceGetMaxPcieLinkWidth(out: Out<c_uint>) |card| out.put(unsigned(card.pcie_width));
    fn nvmlDeviceGetCurrPcieLinkGeneration(out: Out<c_uint>) |card| out.put(unsigned(card.pcie_gen));
    fn nvmlDeviceGetCurrPcieLinkWidth(out: Out<c_uint>) |card| out.put(unsigned(card.pcie_width));
    fn nvmlDeviceGetPersistenceMode(out: Out<c_uint>) |_card| out.put(1);
    fn nvmlDeviceGetComputeMode(out: Out<c_uint>) |_card| out.put(0);
    fn nvmlDeviceGetDisplayMode(out: Out<c_uint>) |_card| out.put(0);
    fn nvmlDeviceGetDisplayActive(out: Out<c_uint>) |_card| out.put(0);
}
