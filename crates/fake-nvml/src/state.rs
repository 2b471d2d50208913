//! The state file: everything the library answers, in one TOML document.

use serde::{Deserialize, Serialize};

/// What every fake UUID begins with. Programs tell a fake card by it.
pub const UUID_MARK: &str = "GPU-fake";

/// What every fake serial number begins with.
pub const SERIAL_MARK: &str = "FAKE";

/// The peer of a link that ends at a switch instead of at another card.
pub const SWITCH: &str = "switch";

/// What the library answers at one moment.
///
/// Fields that a newer writer adds are skipped, because an instance may hold an
/// older library than the program that writes its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Must be true: a file that does not say that its cards are fake is refused.
    pub fake: bool,
    /// Driver version. Ends in `fake`; its first number steers clients.
    pub driver: String,
    /// Version of the management library itself.
    pub nvml: String,
    /// CUDA version of the driver, `12.4`.
    pub cuda: String,
    /// The cards in NVML's order.
    #[serde(rename = "card", default)]
    pub cards: Vec<Card>,
}

/// One card: what it is, and how it does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Begins with [`UUID_MARK`].
    pub uuid: String,
    /// Product name as the real library gives it.
    pub name: String,
    /// Begins with [`SERIAL_MARK`].
    pub serial: String,
    /// PCI address, `0000:01:00.0`.
    pub pci: String,
    /// PCI device id in the upper, vendor id in the lower 16 bits.
    pub pci_device_id: i64,
    /// Number of its device node.
    pub minor: i64,
    /// NUMA node of the nearest processor, where known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub numa: Option<i64>,
    /// Device memory, MiB.
    pub memory_mib: i64,
    /// Enforced power limit, watts.
    pub power_limit_w: i64,
    /// Boost clock of the multiprocessors, MHz.
    pub max_sm_clock_mhz: i64,
    /// Memory clock under load, MHz.
    pub max_mem_clock_mhz: i64,
    /// Compute capability, `8.9`.
    pub compute: String,
    /// Architecture in lower case, `ada`.
    pub architecture: String,
    /// Product line in lower case: `geforce`, `tesla`, `rtx` or `nvidia`.
    pub brand: String,
    /// CUDA cores.
    pub cores: i64,
    /// Width of the memory bus, bits.
    pub bus_bits: i64,
    /// PCIe generation.
    pub pcie_gen: i64,
    /// PCIe lanes.
    pub pcie_width: i64,
    /// Whether error correction is on; absent where the card has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ecc: Option<bool>,
    /// How it does.
    pub live: Live,
    /// NVLink connections.
    #[serde(rename = "link", default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
}

/// Some NVLink lanes to one peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// UUID of the other card, or [`SWITCH`].
    pub peer: String,
    /// How many lanes.
    pub lanes: i64,
}

/// How a card does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Live {
    /// Share of time in which any kernel ran, percent.
    pub gpu_util_pct: i64,
    /// Memory in use, MiB.
    pub memory_used_mib: i64,
    /// Power draw, milliwatts.
    pub power_mw: i64,
    /// Clock of the multiprocessors, MHz.
    pub sm_clock_mhz: i64,
    /// Memory clock, MHz.
    pub mem_clock_mhz: i64,
    /// Core temperature, °C.
    pub temperature_c: i64,
    /// Fan speed, percent; absent where the card has no fan of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fan_pct: Option<i64>,
    /// Whether the card has fallen off the bus.
    pub lost: bool,
    /// Programs that use it.
    #[serde(rename = "process", skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<Process>,
}

/// A program that uses a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Process id.
    pub pid: i32,
    /// Its device memory, MiB.
    pub memory_mib: i64,
}

/// A PCI address in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciAddress {
    /// PCI domain.
    pub domain: u32,
    /// Bus.
    pub bus: u32,
    /// Device on the bus.
    pub device: u32,
}

impl PciAddress {
    /// Reads `0000:01:00.0`, with any width of the domain. `None` when it is not an address.
    pub fn parse(text: &str) -> Option<Self> {
        let (rest, function) = text.rsplit_once('.')?;
        let mut parts = rest.split(':').map(|part| u32::from_str_radix(part, 16).ok());
        let (domain, bus, device) = (parts.next()??, parts.next()??, parts.next()??);
        let ok = parts.next().is_none() && function == "0" && bus <= 0xff && device <= 0x1f;
        ok.then_some(Self { domain, bus, device })
    }
}

impl State {
    /// Reads a state file's text.
    ///
    /// # Errors
    /// A sentence when it is no state, or when anything in it does not say that it is fake.
    pub fn parse(text: &str) -> Result<Self, String> {
        let state: Self = toml::from_str(text).map_err(|e| e.message().to_owned())?;
        state.check()?;
        Ok(state)
    }

    /// The text of the file.
    ///
    /// # Errors
    /// A sentence when the state breaks a rule of the format.
    pub fn to_toml(&self) -> Result<String, String> {
        self.check()?;
        toml::to_string(self).map_err(|e| e.to_string())
    }

    fn check(&self) -> Result<(), String> {
        if !self.fake {
            return Err("a state file must say fake = true".to_owned());
        }
        for (index, card) in self.cards.iter().enumerate() {
            if !card.uuid.starts_with(UUID_MARK) || !card.serial.starts_with(SERIAL_MARK) {
                return Err(format!(
                    "card {index}: the uuid must begin with {UUID_MARK} and the serial with {SERIAL_MARK}"
                ));
            }
            if PciAddress::parse(&card.pci).is_none() {
                return Err(format!("card {index}: `{}` is not a PCI address", card.pci));
            }
            if self.cards[..index].iter().any(|other| other.uuid == card.uuid || other.pci == card.pci) {
                return Err(format!("card {index}: its uuid or PCI address occurs twice"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn card(index: i64) -> Card {
        Card {
            uuid: format!("{UUID_MARK}0000-0000-4000-8000-{index:012x}"),
            name: "NVIDIA GeForce RTX 4090".to_owned(),
            serial: format!("{SERIAL_MARK}{index:09}"),
            pci: format!("0000:{:02x}:00.0", index + 1),
            pci_device_id: 0x2684_10de,
            minor: index,
            numa: Some(0),
            memory_mib: 24_564,
            power_limit_w: 450,
            max_sm_clock_mhz: 2_520,
            max_mem_clock_mhz: 10_501,
            compute: "8.9".to_owned(),
            architecture: "ada".to_owned(),
            brand: "geforce".to_owned(),
            cores: 16_384,
            bus_bits: 384,
            pcie_gen: 4,
            pcie_width: 16,
            ecc: None,
            live: Live { temperature_c: 32, fan_pct: Some(30), ..Live::default() },
            links: Vec::new(),
        }
    }

    fn state(cards: Vec<Card>) -> State {
        State {
            fake: true,
            driver: "550.00.fake".to_owned(),
            nvml: "12.550.00".to_owned(),
            cuda: "12.4".to_owned(),
            cards,
        }
    }

    #[test]
    fn text_comes_back_as_it_was() {
        let mut full = card(0);
        full.links = vec![Link { peer: card(1).uuid, lanes: 12 }, Link { peer: SWITCH.to_owned(), lanes: 6 }];
        full.live.processes = vec![Process { pid: 7, memory_mib: 400 }];
        full.live.lost = true;
        let before = state(vec![full, card(1)]);
        assert_eq!(State::parse(&before.to_toml().unwrap()).unwrap(), before);
    }

    #[test]
    fn a_card_that_hides_that_it_is_fake_is_refused() {
        let mut real = card(0);
        real.uuid = "GPU-12345678-0000-4000-8000-000000000000".to_owned();
        assert!(state(vec![real]).to_toml().is_err());
        let mut unmarked = state(vec![card(0)]);
        unmarked.fake = false;
        assert!(unmarked.to_toml().is_err());
        assert!(State::parse("fake = false\ndriver = ''\nnvml = ''\ncuda = ''").is_err());
    }

    #[test]
    fn two_cards_in_one_place_are_refused() {
        assert!(state(vec![card(0), card(0)]).to_toml().is_err());
    }

    #[test]
    fn a_field_of_the_future_is_skipped() {
        let text = format!("{}\n[future]\nwarp = 9\n", state(vec![]).to_toml().unwrap());
        assert_eq!(State::parse(&text).unwrap(), state(vec![]));
    }

    #[test]
    fn pci_addresses_are_read_in_both_widths() {
        let address = Some(PciAddress { domain: 0, bus: 0x81, device: 3 });
        assert_eq!(PciAddress::parse("0000:81:03.0"), address);
        assert_eq!(PciAddress::parse("00000000:81:03.0"), address);
        for wrong in ["", "81:03.0", "0000:81:03", "0000:181:03.0", "0000:81:03.0.0", "0000:81:zz.0"] {
            assert_eq!(PciAddress::parse(wrong), None, "{wrong}");
        }
    }
}
