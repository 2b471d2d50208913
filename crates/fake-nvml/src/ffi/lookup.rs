//! From an index, UUID, serial number or PCI address to a handle.

use std::ffi::c_uint;

use super::call::{Answer, Code, Handle, Out, Text, unsigned};
use super::session::Session;
use crate::state::{Card, PciAddress};

fn by_index(session: &mut Session, index: c_uint, out: Out<Handle>) -> Answer {
    let card = session.state()?.cards.get(index as usize).ok_or(Code::InvalidArgument)?;
    let (uuid, lost) = (card.uuid.clone(), card.live.lost);
    out.put(session.handle(&uuid, lost)?)
}

/// As with the real library, a search that meets a lost card and finds nothing
/// says so, because the lost one may have been the card that was meant.
fn by(session: &mut Session, out: Out<Handle>, is_it: impl Fn(&Card) -> bool) -> Answer {
    let cards = &session.state()?.cards;
    let Some(card) = cards.iter().find(|card| is_it(card)) else {
        let any_lost = cards.iter().any(|card| card.live.lost);
        return Err(if any_lost { Code::GpuIsLost } else { Code::NotFound });
    };
    let (uuid, lost) = (card.uuid.clone(), card.live.lost);
    out.put(session.handle(&uuid, lost)?)
}

fn by_pci(session: &mut Session, text: Text, out: Out<Handle>) -> Answer {
    let address = PciAddress::parse(text.get()?).ok_or(Code::InvalidArgument)?;
    by(session, out, |card| PciAddress::parse(&card.pci) == Some(address))
}

system_functions! {
    fn nvmlDeviceGetHandleByIndex(index: c_uint, out: Out<Handle>) |s| by_index(s, index, out);
    fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, out: Out<Handle>) |s| by_index(s, index, out);
    fn nvmlDeviceGetHandleByPciBusId(pci: Text, out: Out<Handle>) |s| by_pci(s, pci, out);
    fn nvmlDeviceGetHandleByPciBusId_v2(pci: Text, out: Out<Handle>) |s| by_pci(s, pci, out);
    fn nvmlDeviceGetHandleByUUID(uuid: Text, out: Out<Handle>) |s| {
        let uuid = uuid.get()?;
        by(s, out, |card| card.uuid == uuid)
    };
    fn nvmlDeviceGetHandleBySerial(serial: Text, out: Out<Handle>) |s| {
        let serial = serial.get()?;
        by(s, out, |card| card.serial == serial)
    };
    fn nvmlDeviceGetIndex(device: Handle, out: Out<c_uint>) |s| {
        s.card(device)?;
        out.put(unsigned(s.index(device)? as i64))
    };
}
