//! From a profile to its cards.

use fake_nvml::state::{Card, Link, Live, SERIAL_MARK, SWITCH, UUID_MARK};

use super::profile::{Model, NvLink, Profile, Shape, mixed};

/// The cards in order, with nothing running. Depends on nothing but the profile.
pub(super) fn cards(profile: &Profile) -> Vec<Card> {
    let models = profile.models().iter().flat_map(|model| (0..model.count).map(move |_| model));
    let mut cards: Vec<Card> = (0..).zip(models).map(|(index, model)| card(profile, index, model)).collect();
    let mut first = 0;
    for model in profile.models() {
        let end = first + usize::try_from(model.count).unwrap_or(0);
        if let Some(nvlink) = &model.nvlink {
            connect(&mut cards[first..end], nvlink);
        }
        first = end;
    }
    cards
}

fn card(profile: &Profile, index: i64, model: &Model) -> Card {
    let digits = mixed(profile.seed() ^ mixed(index.unsigned_abs()));
    let [a, b, c, d] = [48, 32, 16, 0].map(|shift| digits >> shift & 0xffff);
    let last = mixed(digits) & 0xffff_ffff_ffff;
    Card {
        uuid: format!("{UUID_MARK}{a:04x}-{b:04x}-{c:04x}-{d:04x}-{last:012x}"),
        name: model.name.clone(),
        serial: format!("{SERIAL_MARK}{:09}", digits % 1_000_000_000),
        // Far apart, as behind real bridges, and never where the switch is.
        pci: format!("{:04x}:{:02x}:00.0", index / 16, index % 16 * 0x0e + 1),
        pci_device_id: model.pci_device_id,
        minor: index,
        numa: Some(index * profile.numa_nodes() / profile.count().max(1)),
        memory_mib: model.memory_mib,
        power_limit_w: model.power_limit_w,
        max_sm_clock_mhz: model.max_sm_clock_mhz,
        max_mem_clock_mhz: model.max_mem_clock_mhz,
        compute: model.compute.clone(),
        architecture: model.architecture.clone(),
        brand: model.brand.clone(),
        cores: model.cores,
        bus_bits: model.bus_bits,
        pcie_gen: model.pcie_gen,
        pcie_width: model.pcie_width,
        ecc: model.ecc,
        live: Live { fan_pct: model.fan.then_some(0), ..Live::default() },
        links: Vec::new(),
    }
}

fn connect(cards: &mut [Card], nvlink: &NvLink) {
    let uuids: Vec<String> = cards.iter().map(|card| card.uuid.clone()).collect();
    for (place, card) in cards.iter_mut().enumerate() {
        let to = |peer: &String| Link { peer: peer.clone(), lanes: nvlink.lanes };
        card.links = match nvlink.shape {
            Shape::Pairs => uuids.get(place ^ 1).map(to).into_iter().collect(),
            Shape::Mesh => uuids.iter().filter(|uuid| **uuid != card.uuid).map(to).collect(),
            Shape::Switch => vec![to(&SWITCH.to_owned())],
        };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn cards_are_the_same_each_time_and_differ_from_one_another() {
        let mut uuids = BTreeSet::new();
        let mut count = 0;
        for name in Profile::builtin_names() {
            let profile = Profile::builtin(name).unwrap();
            assert_eq!(cards(&profile), cards(&profile));
            for other in [profile.clone(), profile.clone().for_node("a"), profile.for_node("b")] {
                count += cards(&other).len();
                uuids.extend(cards(&other).into_iter().map(|card| card.uuid));
            }
        }
        assert_eq!(uuids.len(), count);
        assert!(uuids.iter().all(|uuid| uuid.len() == "GPU-12345678-1234-1234-1234-123456789012".len()));
    }

    #[test]
    fn links_go_both_ways() {
        let cards = super::cards(&Profile::builtin("a100-80g-nvlink-x4").unwrap());
        for (a, b) in [(0, 1), (1, 0), (2, 3), (3, 2)] {
            assert_eq!(cards[a].links, [Link { peer: cards[b].uuid.clone(), lanes: 12 }]);
        }
    }
}
