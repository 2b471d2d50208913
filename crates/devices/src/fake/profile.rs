//! Which cards to pretend, as an operator writes it down.

use std::path::Path;

use base::{Cause, Error, Result};
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

/// Some equal cards. What the fields mean is written in profiles/README.md.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    pub(super) count: i64,
    pub(super) name: String,
    pub(super) brand: String,
    pub(super) architecture: String,
    pub(super) compute: String,
    pub(super) memory_mib: i64,
    pub(super) power_limit_w: i64,
    pub(super) max_sm_clock_mhz: i64,
    pub(super) max_mem_clock_mhz: i64,
    pub(super) cores: i64,
    pub(super) bus_bits: i64,
    pub(super) pcie_gen: i64,
    #[serde(default = "sixteen")]
    pub(super) pcie_width: i64,
    pub(super) pci_device_id: i64,
    #[serde(default)]
    pub(super) fan: bool,
    pub(super) ecc: Option<bool>,
    pub(super) nvlink: Option<NvLink>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NvLink {
    pub(super) shape: Shape,
    pub(super) lanes: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Shape {
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

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn numa_nodes(&self) -> i64 {
        self.numa_nodes
    }

    pub(super) fn models(&self) -> &[Model] {
        &self.models
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
}

/// Spreads the bits of a number (the finalizer of SplitMix64).
pub(super) fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::super::cards::cards;
    use super::*;

    #[test]
    fn every_profile_that_comes_along_is_valid_and_named_as_its_file() {
        for name in Profile::builtin_names() {
            let profile = Profile::builtin(name).unwrap();
            assert_eq!(profile.name(), name);
            assert_eq!(cards(&profile).len() as i64, profile.count());
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
