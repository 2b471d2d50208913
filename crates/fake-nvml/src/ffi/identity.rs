//! What a card is.

use std::ffi::{c_char, c_int, c_uint, c_ulong};

use super::call::{Answer, Code, Out, unsigned};
use super::layout::{PciInfo, PciInfoExt, version_word};
use crate::state::Card;

/// Class codes of a 3D controller.
const DISPLAY_CLASS: c_uint = 0x03;
const CONTROLLER_3D: c_uint = 0x02;

fn brand(card: &Card) -> c_uint {
    match card.brand.as_str() {
        "tesla" => 2,
        "geforce" => 5,
        "rtx" => 13,
        "nvidia" => 14,
        _ => 0,
    }
}

fn architecture(card: &Card) -> c_uint {
    match card.architecture.as_str() {
        "pascal" => 4,
        "volta" => 5,
        "turing" => 6,
        "ampere" => 7,
        "ada" => 8,
        "hopper" => 9,
        "blackwell" => 10,
        _ => c_uint::MAX,
    }
}

fn capability(card: &Card) -> Result<(c_int, c_int), Code> {
    let (major, minor) = card.compute.split_once('.').ok_or(Code::NotSupported)?;
    match (major.parse(), minor.parse()) {
        (Ok(major), Ok(minor)) => Ok((major, minor)),
        _ => Err(Code::NotSupported),
    }
}

fn put_pci_ext(card: &Card, out: Out<PciInfoExt>) -> Answer {
    let version = version_word::<PciInfoExt>(1);
    if out.get()?.version != version {
        return Err(Code::ArgumentVersionMismatch);
    }
    let PciInfo { domain, bus, device, device_id, subsystem_id, bus_id, .. } = PciInfo::of(card)?;
    out.put(PciInfoExt {
        version,
        domain,
        bus,
        device,
        device_id,
        subsystem_id,
        base_class: DISPLAY_CLASS,
        sub_class: CONTROLLER_3D,
        bus_id,
    })
}

/// The NUMA node as a bit in the client's array of words.
fn put_numa(card: &Card, words: c_uint, set: Out<c_ulong>) -> Answer {
    let node = card.numa.and_then(|node| usize::try_from(node).ok()).ok_or(Code::NotSupported)?;
    let bits = c_ulong::BITS as usize;
    if words > 1_024 || node / bits >= words as usize {
        return Err(Code::InsufficientSize);
    }
    let mut values = vec![0; words as usize];
    if let Some(word) = values.get_mut(node / bits) {
        *word = 1 << (node % bits);
    }
    set.put_all(&values, words)
}

card_functions! {
    fn nvmlDeviceGetName(text: Out<c_char>, len: c_uint) |card| text.put_text(&card.name, len);
    fn nvmlDeviceGetUUID(text: Out<c_char>, len: c_uint) |card| text.put_text(&card.uuid, len);
    fn nvmlDeviceGetSerial(text: Out<c_char>, len: c_uint) |card| text.put_text(&card.serial, len);
    fn nvmlDeviceGetBoardPartNumber(text: Out<c_char>, len: c_uint) |_card| text.put_text("FAKE", len);
    fn nvmlDeviceGetVbiosVersion(text: Out<c_char>, len: c_uint) |_card| text.put_text("FAKE", len);
    fn nvmlDeviceGetMinorNumber(out: Out<c_uint>) |card| out.put(unsigned(card.minor));
    fn nvmlDeviceGetBrand(out: Out<c_uint>) |card| out.put(brand(card));
    fn nvmlDeviceGetArchitecture(out: Out<c_uint>) |card| out.put(architecture(card));
    fn nvmlDeviceGetNumGpuCores(out: Out<c_uint>) |card| out.put(unsigned(card.cores));
    fn nvmlDeviceGetMemoryBusWidth(out: Out<c_uint>) |card| out.put(unsigned(card.bus_bits));
    fn nvmlDeviceGetPciInfo_v3(out: Out<PciInfo>) |card| out.put(PciInfo::of(card)?);
    fn nvmlDeviceGetPciInfoExt(out: Out<PciInfoExt>) |card| put_pci_ext(card, out);
    fn nvmlDeviceGetMemoryAffinity(words: c_uint, set: Out<c_ulong>, _scope: c_uint) |card| put_numa(card, words, set);
    fn nvmlDeviceIsMigDeviceHandle(out: Out<c_uint>) |_card| out.put(0);
    fn nvmlDeviceGetCudaComputeCapability(major: Out<c_int>, minor: Out<c_int>) |card| {
        let (a, b) = capability(card)?;
        major.put(a)?;
        minor.put(b)
    };
}
