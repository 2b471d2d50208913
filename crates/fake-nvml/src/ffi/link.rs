//! How cards are connected with each other.

use std::ffi::{c_int, c_uint};

use super::call::{Code, Handle, Out, on_card};
use super::layout::PciInfo;
use crate::state::{Card, Link, PciAddress, SWITCH};

/// Where a switch shows up on the bus, and its device id (an NVSwitch).
const SWITCH_AT: PciAddress = PciAddress { domain: 0, bus: 0xf0, device: 0 };
const SWITCH_ID: c_uint = 0x22a3_10de;

/// More lanes than any card has.
const MAX_LANES: c_uint = 36;

/// Cards under one host bridge, and cards with only the system in common.
const SAME_BRIDGE: c_uint = 30;
const SAME_SYSTEM: c_uint = 50;

/// The connection that lane number `lane` belongs to; `None` when that lane is off.
fn peer_of(card: &Card, lane: c_uint) -> Result<Option<&Link>, Code> {
    if lane >= MAX_LANES {
        return Err(Code::InvalidArgument);
    }
    let mut first = 0;
    for link in &card.links {
        first += link.lanes.max(0);
        if i64::from(lane) < first {
            return Ok(Some(link));
        }
    }
    if card.links.is_empty() { Err(Code::NotSupported) } else { Ok(None) }
}

fn active(card: &Card, lane: c_uint) -> Result<&Link, Code> {
    peer_of(card, lane)?.ok_or(Code::InvalidArgument)
}

/// NVLink generation by architecture.
fn version(card: &Card) -> Result<c_uint, Code> {
    match card.architecture.as_str() {
        "pascal" => Ok(1),
        "volta" | "turing" => Ok(2),
        "ampere" => Ok(3),
        "hopper" => Ok(4),
        "blackwell" => Ok(5),
        _ => Err(Code::NotSupported),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetNvLinkRemotePciInfo_v2(device: Handle, lane: c_uint, out: Out<PciInfo>) -> c_int {
    on_card(device, |card, session| {
        let peer = &active(card, lane)?.peer;
        if peer == SWITCH {
            return out.put(PciInfo::at(SWITCH_AT, SWITCH_ID));
        }
        let other = session.state()?.cards.iter().find(|other| other.uuid == *peer).ok_or(Code::NotFound)?;
        out.put(PciInfo::of(other)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetTopologyCommonAncestor(a: Handle, b: Handle, out: Out<c_uint>) -> c_int {
    on_card(a, |card, session| {
        let other = session.card(b)?;
        out.put(match () {
            () if card.uuid == other.uuid => 0,
            () if card.numa == other.numa => SAME_BRIDGE,
            () => SAME_SYSTEM,
        })
    })
}

card_functions! {
    fn nvmlDeviceGetNvLinkState(lane: c_uint, out: Out<c_uint>) |card| {
        out.put(c_uint::from(peer_of(card, lane)?.is_some()))
    };
    fn nvmlDeviceGetNvLinkVersion(lane: c_uint, out: Out<c_uint>) |card| {
        active(card, lane)?;
        out.put(version(card)?)
    };
    fn nvmlDeviceGetNvLinkRemoteDeviceType(lane: c_uint, out: Out<c_uint>) |card| {
        out.put(if active(card, lane)?.peer == SWITCH { 2 } else { 0 })
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::card;

    #[test]
    fn lanes_are_dealt_out_in_the_order_of_the_links() {
        let mut card = card(0);
        assert_eq!(peer_of(&card, 0), Err(Code::NotSupported));
        let link = |peer: &str, lanes| Link { peer: peer.to_owned(), lanes };
        card.links = vec![link("a", 2), link("b", 1)];
        let peer = |lane| peer_of(&card, lane).map(|link| link.map(|link| link.peer.as_str()));
        assert_eq!([peer(0), peer(1), peer(2)], [Ok(Some("a")), Ok(Some("a")), Ok(Some("b"))]);
        assert_eq!(peer(3), Ok(None));
        assert_eq!(peer(MAX_LANES), Err(Code::InvalidArgument));
    }
}
