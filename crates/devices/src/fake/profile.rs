//! Which cards to pretend, as an operator writes it down.

use std::path::Path;

use base::{Cause, Error, Result};
use fake_nvml::state::{Card, Link, Live, SERIAL_MARK, SWITCH, UUID_MARK};
use serde::Deserialize;

use super::trace::{self, Trace};

/// More cards than any machine has.
const MAX_CARDS: i64 = 64;

const BUILTIN: [(&str, &str); 4] = [
    ("rtx4090x8", include_str!("../../../../profiles/rtx4090x8.toml")),
    ("a100-80g-nvlink-x4", include_str!("../../../../profiles/a100-80g-nvlink-x4.toml")),
    ("h100x8-nvlink", include_str!("../../../../profiles/h100x8-nvlink.toml")),
    ("mixed-lab", include_str!("../../../../profiles/mixed-lab.toml")),
];

/// A machine's worth of cards that do not exist.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    name: String,
    fake: bool,
    seed: u64,
    #[serde(default = "one")]
    numa_nodes: i64,
    #[serde(default = "driver")]
    driver: String,
    #[serde(default = "cuda")]
    cuda: String,
    #[serde(rename = "model")]
    models: Vec<Model>,
    #[serde(rename = "trace", default)]
    traces: Vec<Trace>,
}

/// Some equal cards.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    count: i64,
    name: String,
    brand: String,
    architecture: String,
    compute: String,
    memory_mib: i64,
    power_limit_w: i64,
    max_sm_clock_mhz: i64,
    max_mem_clock_mhz: i64,
    cores: i64,
    bus_bits: i64,
    pcie_gen: i64,
    #[serde(default = "sixteen")]
    pcie_width: i64,
    pci_device_id: i64,
    #[serde(default)]
    fan: bool,
    ecc: Option<bool>,
    nvlink: Option<NvLink>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NvLink {
    shape: Shape,
    lanes: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Shape {
    /// 0 with 1, 2 with 3, and so on.
    Pairs,
    /// Each card with each other.
    Mesh,
    /// All through switches.
    Switch,
}

const fn one() -> i64 {
    1
}

const fn sixteen() -> i64 {
    16
}

fn driver() -> String {
    "550.00.fake".to_owned()
}

fn cuda() -> String {
    "12.4".to_owned()
}

impl Profile {
    /// Names of the profiles that this program brings along.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// A profile that this program brings along.
    ///
    /// # Errors
    /// `not-found` with the names that there are.
    pub fn builtin(name: &str) -> Result<Self> {
        let Some((_, text)) = BUILTIN.iter().find(|(known, _)| *known == name) else {
            let names: Vec<_> = Self::builtin_names().collect();
            return Err(Error::not_found(format!("the profile `{}`", name.escape_debug()))
                .hint(format!("profiles that come with the program: {}", names.join(", "))));
        };
        Self::parse(text, name)
    }

    /// A profile from a file, or a built-in one where the path is just its name.
    ///
    /// # Errors
    /// `not-found` when the file cannot be read, `invalid-request` when it is no profile.
    pub fn load(path: &Path) -> Result<Self> {
        let name = path.to_string_lossy();
        if Self::builtin_names().any(|known| known == name) {
            return Self::builtin(&name);
        }
        let text = std::fs::read_to_string(path).map_err(|error| {
            let names: Vec<_> = Self::builtin_names().collect();
            Error::new(Cause::NotFound, format!("the profile {} cannot be read: {error}", path.display()))
                .hint(format!("name a TOML file, or one of {}", names.join(", ")))
        })?;
        Self::parse(&text, &name)
    }

    /// A profile from its text; `origin` is what an error calls it.
    ///
    /// # Errors
    /// `invalid-request` that says which line or rule is broken.
    pub fn parse(text: &str, origin: &str) -> Result<Self> {
        let refuse = |why: String| {
            Error::new(Cause::InvalidRequest, format!("the profile {origin} is not valid: {why}"))
                .hint("profiles/README.md describes every field")
        };
        let profile: Self = toml::from_str(text).map_err(|error| refuse(error.to_string()))?;
        profile.check().map_err(refuse)?;
        Ok(profile)
    }

    fn check(&self) -> Result<(), String> {
        if !self.fake {
            return Err("it must say fake = true".to_owned());
        }
        if !self.driver.ends_with("fake") {
            return Err("driver must end with `fake`, so that every program shows it".to_owned());
        }
        if self.models.iter().any(|model| !(1..=MAX_CARDS).contains(&model.count)) || self.count() > MAX_CARDS {
            return Err(format!("a profile has 1 to {MAX_CARDS} cards"));
        }
        if !(1..=64).contains(&self.numa_nodes) {
            return Err("numa_nodes is 1 to 64".to_owned());
        }
        for model in &self.models {
            let sizes = [model.memory_mib, model.power_limit_w, model.max_sm_clock_mhz, model.max_mem_clock_mhz];
            if sizes.iter().any(|size| !(1..=100_000_000).contains(size)) {
                return Err(format!("{}: memory, power and clocks must be positive", model.name));
            }
            if model.nvlink.as_ref().is_some_and(|nvlink| !(1..=36).contains(&nvlink.lanes)) {
                return Err(format!("{}: nvlink has 1 to 36 lanes", model.name));
            }
        }
        let cards = usize::try_from(self.count()).unwrap_or(0);
        self.traces.iter().try_for_each(|trace| trace::check(trace, cards))
    }

    /// Cards with other UUIDs for every `node`, so that two machines with one
    /// profile do not claim the same cards. The same node gets the same cards again.
    #[must_use]
    pub fn for_node(mut self, node: &str) -> Self {
        self.seed = node.bytes().fold(self.seed, |seed, byte| mixed(seed ^ u64::from(byte)));
        self
    }

    /// Name of the profile.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of cards.
    pub fn count(&self) -> i64 {
        self.models.iter().map(|model| model.count.clamp(0, MAX_CARDS)).sum()
    }

    pub(super) fn driver(&self) -> &str {
        &self.driver
    }

    pub(super) fn cuda(&self) -> &str {
        &self.cuda
    }

    pub(super) fn traces(&self) -> &[Trace] {
        &self.traces
    }

    /// The cards in order, with nothing running. Depends on nothing but the profile.
    pub(super) fn cards(&self) -> Vec<Card> {
        let models = self.models.iter().flat_map(|model| (0..model.count).map(move |_| model));
        let mut cards: Vec<Card> = (0..).zip(models).map(|(index, model)| self.card(index, model)).collect();
        let mut first = 0;
        for model in &self.models {
            let end = first + usize::try_from(model.count).unwrap_or(0);
            if let Some(nvlink) = &model.nvlink {
                connect(&mut cards[first..end], nvlink);
            }
            first = end;
        }
        cards
    }

    fn card(&self, index: i64, model: &Model) -> Card {
        let digits = mixed(self.seed ^ mixed(index.unsigned_abs()));
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
            numa: Some(index * self.numa_nodes / self.count().max(1)),
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

/// Spreads the bits of a number (the finalizer of SplitMix64).
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_profile_that_comes_along_is_valid_and_named_as_its_file() {
        for name in Profile::builtin_names() {
            let profile = Profile::builtin(name).unwrap();
            assert_eq!(profile.name(), name);
            assert_eq!(profile.cards().len() as i64, profile.count());
        }
    }

    #[test]
    fn cards_are_the_same_each_time_and_differ_from_one_another() {
        let mut uuids = BTreeSet::new();
        let mut count = 0;
        for name in Profile::builtin_names() {
            let profile = Profile::builtin(name).unwrap();
            assert_eq!(profile.cards(), profile.cards());
            for other in [profile.clone(), profile.clone().for_node("a"), profile.for_node("b")] {
                count += other.cards().len();
                uuids.extend(other.cards().into_iter().map(|card| card.uuid));
            }
        }
        assert_eq!(uuids.len(), count);
        assert!(uuids.iter().all(|uuid| uuid.len() == "GPU-12345678-1234-1234-1234-123456789012".len()));
    }

    #[test]
    fn links_go_both_ways() {
        let cards = Profile::builtin("a100-80g-nvlink-x4").unwrap().cards();
        for (a, b) in [(0, 1), (1, 0), (2, 3), (3, 2)] {
            assert_eq!(cards[a].links, [Link { peer: cards[b].uuid.clone(), lanes: 12 }]);
        }
    }

    #[test]
    fn a_mistake_is_named() {
        let text = BUILTIN[0].1;
        let refused = |text: &str| Profile::parse(text, "mine.toml").unwrap_err();
        assert!(refused(&text.replace("memory_mib", "memory_mb")).message().contains("memory_mb"));
        assert!(refused(&text.replace("fake = true", "fake = false")).message().contains("fake = true"));
        assert!(refused(&text.replace("seed", "driver = \"550.54.15\"\nseed")).message().contains("end with `fake`"));
        assert!(refused(&text.replace("count = 8", "count = 65")).message().contains("1 to 64"));
        assert!(refused(&text.replace("count = 8", "count = -1")).message().contains("1 to 64"));
        assert!(refused(&format!("{text}\n[[trace]]\ncards = [8]\npoints = []")).message().contains("card 8"));
        assert_eq!(refused("").cause(), Cause::InvalidRequest);
    }

    #[test]
    fn a_file_or_a_name_can_be_loaded() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), BUILTIN[3].1).unwrap();
        assert_eq!(Profile::load(file.path()).unwrap().name(), "mixed-lab");
        assert_eq!(Profile::load(Path::new("rtx4090x8")).unwrap().name(), "rtx4090x8");
        let error = Profile::load(Path::new("/nowhere.toml")).unwrap_err();
        assert_eq!(error.cause(), Cause::NotFound);
        assert!(error.hint_text().unwrap().contains("mixed-lab"));
    }
}
