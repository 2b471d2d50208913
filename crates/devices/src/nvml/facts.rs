//! What the cards are.

use std::collections::BTreeMap;
use std::ffi::c_uint;
use std::path::Path;

use base::Result;
use domain::device::{DeviceFacts, DeviceLink};
use fake_nvml::state::UUID_MARK;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

/// More NVLink lanes than any card has.
const MAX_LANES: u32 = 36;

/// `NVML_NVLINK_DEVICE_TYPE_SWITCH`.
const TO_SWITCH: c_uint = 2;

/// Words of 64 nodes to ask for; more NUMA nodes than any machine has.
const NUMA_WORDS: usize = 16;

/// Nodes that programs on a real card open besides the card's own.
const SHARED_NODES: [&str; 4] = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"];

/// Lanes of one card: directly to other cards by PCI address, and to switches.
#[derive(Default)]
struct Lanes {
    to_cards: BTreeMap<String, i64>,
    to_switch: i64,
}

/// Every card that answers.
pub(super) fn read(lib: &Nvml) -> Result<Vec<DeviceFacts>> {
    let count = lib.device_count().map_err(|error| super::load::refused(&error, None))?;
    let driver = lib.sys_driver_version().ok();
    let mut cards = Vec::new();
    for index in 0..count {
        match lib.device_by_index(index).and_then(|device| one(&device, index, driver.clone())) {
            Ok(card) => cards.push(card),
            Err(error) => tracing::warn!(index, %error, "a card does not answer"),
        }
    }
    let (mut facts, lanes): (Vec<_>, Vec<_>) = cards.into_iter().unzip();
    for (place, links) in links(&facts, &lanes).into_iter().enumerate() {
        facts[place].links = links;
    }
    Ok(facts)
}

fn one(device: &Device<'_>, index: u32, driver: Option<String>) -> Result<(DeviceFacts, Lanes), NvmlError> {
    let uuid = device.uuid()?;
    let fake = uuid.starts_with(UUID_MARK);
    let pci = short_pci(&device.pci_info()?.bus_id);
    let limit = device.enforced_power_limit().or_else(|_| device.power_management_limit()).ok();
    let facts = DeviceFacts {
        name: device.name()?,
        serial: device.serial().ok(),
        memory_mib: i64::try_from(device.memory_info()?.total >> 20).unwrap_or(i64::MAX),
        numa: numa(device, &pci, fake),
        index: i64::from(index),
        paths: paths(device.minor_number()?, fake),
        links: Vec::new(),
        power_limit_w: limit.map(|milliwatts| i64::from(milliwatts / 1_000)),
        driver,
        fake,
        pci,
        uuid,
    };
    Ok((facts, lanes(device)))
}

/// NVML's `00000000:01:00.0` as the kernel writes it, `0000:01:00.0`.
fn short_pci(text: &str) -> String {
    let text = text.to_ascii_lowercase();
    match text.split_once(':') {
        Some((domain, rest)) if domain.len() == 8 && domain.starts_with("0000") => format!("{}:{rest}", &domain[4..]),
        _ => text,
    }
}

fn numa(device: &Device<'_>, pci: &str, fake: bool) -> Option<i64> {
    const SCOPE_NODE: c_uint = 0;
    if let Ok(words) = device.memory_affinity(NUMA_WORDS, SCOPE_NODE)
        && let Some(node) = lowest_bit(&words)
    {
        return Some(node);
    }
    if fake {
        // Another device may live at the address that a fake card claims.
        return None;
    }
    // -1 in this file means that the firmware did not say.
    let text = std::fs::read_to_string(format!("/sys/bus/pci/devices/{pci}/numa_node")).ok()?;
    text.trim().parse().ok().filter(|node| *node >= 0)
}

fn lowest_bit(words: &[std::ffi::c_ulong]) -> Option<i64> {
    let place = words.iter().position(|word| *word != 0)?;
    i64::try_from(place * std::ffi::c_ulong::BITS as usize + words[place].trailing_zeros() as usize).ok()
}

fn paths(minor: u32, fake: bool) -> Vec<String> {
    let shared = SHARED_NODES.iter().filter(|path| !fake && Path::new(path).exists()).map(|path| (*path).to_owned());
    std::iter::once(format!("/dev/nvidia{minor}")).chain(shared).collect()
}

fn lanes(device: &Device<'_>) -> Lanes {
    let mut lanes = Lanes::default();
    for lane in 0..MAX_LANES {
        let link = device.link_wrapper_for(lane);
        match link.is_active() {
            Ok(true) => {}
            Ok(false) => continue,
            // Not supported, or past the last lane.
            Err(_) => break,
        }
        if ends_at_switch(device, lane) {
            lanes.to_switch += 1;
        } else if let Ok(pci) = link.remote_pci_info() {
            *lanes.to_cards.entry(short_pci(&pci.bus_id)).or_default() += 1;
        }
    }
    lanes
}

/// The wrapper's own method for this gives the answer away (it hands the library
/// the address of a temporary and returns the untouched default), so the function
/// is called directly. Old drivers lack it; they also know no switches.
fn ends_at_switch(device: &Device<'_>, lane: u32) -> bool {
    let Ok(ask) = device.nvml().lib().nvmlDeviceGetNvLinkRemoteDeviceType.as_ref() else { return false };
    let mut kind: c_uint = c_uint::MAX;
    // SAFETY: the handle belongs to the library that the function is from, which
    // stays loaded while `device` borrows it, and `kind` outlives the call.
    let code = unsafe { ask(device.handle(), lane, &raw mut kind) };
    code == 0 && kind == TO_SWITCH
}

/// The direct links of each card. Cards whose lanes end at switches reach one
/// another over as many lanes as the poorer of the two has.
fn links(facts: &[DeviceFacts], lanes: &[Lanes]) -> Vec<Vec<DeviceLink>> {
    let between = |a: usize, b: usize| {
        let direct = lanes[a].to_cards.get(&facts[b].pci).copied().unwrap_or(0);
        direct + lanes[a].to_switch.min(lanes[b].to_switch)
    };
    let of = |a: usize| {
        let others = (0..facts.len()).filter(move |b| *b != a);
        others
            .map(|b| DeviceLink { peer: facts[b].uuid.clone(), nvlinks: between(a, b) })
            .filter(|link| link.nvlinks > 0)
            .collect()
    };
    (0..facts.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_addresses_look_as_in_the_kernel() {
        assert_eq!(short_pci("00000000:C1:00.0"), "0000:c1:00.0");
        assert_eq!(short_pci("0000:c1:00.0"), "0000:c1:00.0");
        assert_eq!(short_pci("00010000:C1:00.0"), "00010000:c1:00.0");
    }

    #[test]
    fn the_nearest_numa_node_is_the_lowest_bit() {
        assert_eq!(lowest_bit(&[0, 0b100]), Some(i64::from(std::ffi::c_ulong::BITS) + 2));
        assert_eq!(lowest_bit(&[1, 1]), Some(0));
        assert_eq!(lowest_bit(&[0, 0]), None);
    }

    #[test]
    fn fake_cards_never_get_nodes_of_real_ones() {
        assert_eq!(paths(3, true), ["/dev/nvidia3"]);
        assert_eq!(paths(3, false)[0], "/dev/nvidia3");
    }
}
