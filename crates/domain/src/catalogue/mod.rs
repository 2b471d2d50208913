//! The catalogue of GPU models: what a card is, under which names people and
//! drivers know it, and how far its numbers can be trusted.

mod names;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base::{Cause, Error, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use names::{key, tokens};

const BUILTIN: &str = include_str!("../../data/accelerators.toml");

/// How far to trust the numbers of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Vendor documents agree with what the cards report.
    High,
    /// One good source, or a value derived from another.
    Medium,
    /// Press or estimates only.
    Low,
}

/// Whether device memory is error-corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ecc {
    /// Always or by default.
    Yes,
    /// Not available.
    No,
    /// Available, off by default.
    Optional,
}

/// Specifications. Rates are dense (without sparsity) and nominal; `None` means
/// that no source was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Specs {
    /// Memory bandwidth, GB/s (decimal).
    pub mem_bw_gbs: Option<f64>,
    /// FP32 outside the tensor cores, TFLOPS.
    pub fp32_tflops: Option<f64>,
    /// TF32 tensor, TFLOPS.
    pub tf32_tflops: Option<f64>,
    /// FP16 tensor with FP32 accumulation, TFLOPS.
    pub fp16_tflops: Option<f64>,
    /// BF16 tensor with FP32 accumulation, TFLOPS.
    pub bf16_tflops: Option<f64>,
    /// FP8 tensor, TFLOPS.
    pub fp8_tflops: Option<f64>,
    /// INT8 tensor, TOPS.
    pub int8_tops: Option<f64>,
    /// Board power limit, watts.
    pub tdp_w: Option<f64>,
    /// Bandwidth of all direct card-to-card links together, both directions, GB/s.
    pub nvlink_gbs: Option<f64>,
    /// Boost clock, MHz.
    pub boost_mhz: Option<f64>,
    /// PCI Express generation.
    pub pcie_gen: Option<i64>,
    /// Streaming multiprocessors, compute units or AI cores.
    pub sm_or_cu: Option<i64>,
    /// FP16 fused multiply-adds per multiprocessor and clock.
    pub fp16_fma_per_sm_clk: Option<i64>,
    /// CUDA compute capability.
    pub compute_cap: Option<String>,
}

/// One entry of the catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GpuModel {
    /// Stable name for machines: `a100-sxm4-80g`.
    pub slug: String,
    /// As people say it: `A100 SXM4 80G`.
    pub name: String,
    /// Who makes the chip.
    pub vendor: String,
    /// Architecture and chip.
    pub arch: String,
    /// Nominal device memory, GiB.
    pub memory_gib: i64,
    /// Other names that people type. One name may stand on several entries.
    pub aliases: Vec<String>,
    /// Names that the vendor's library reports.
    pub nvml_names: Vec<String>,
    /// Memory that the vendor's library reports, MiB, where a report was seen.
    pub nvml_total_mib: Option<i64>,
    /// Specifications.
    #[serde(default)]
    pub specs: Specs,
    /// Error correction of device memory.
    pub ecc: Option<Ecc>,
    /// Most MIG instances; 0 means that it cannot be partitioned.
    pub mig_max: Option<i64>,
    /// First sold, as precisely as known (`2022-09-20`, `2024-11`, `2025`).
    pub release: Option<String>,
    /// Where the facts come from.
    pub source: String,
    /// How far to trust them.
    pub confidence: Confidence,
    /// What to know beside the numbers.
    pub notes: String,
}

/// What a name means when it fits several entries and nearly everybody means one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct NameDefault {
    typed: String,
    slug: String,
    /// Why this entry and no other; kept beside the decision, read by people only.
    #[serde(rename = "reason")]
    _reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    default: Vec<NameDefault>,
    gpu: Vec<GpuModel>,
}

/// All known GPU models, in the order of the data file.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    models: Vec<GpuModel>,
    /// Normalised name → positions in `models`.
    by_key: BTreeMap<String, Vec<usize>>,
    /// Normalised name → position, where one of several is meant.
    defaults: BTreeMap<String, usize>,
}

impl Catalogue {
    /// The catalogue that is part of the program.
    ///
    /// A broken data file cannot leave the test suite, so this has no error; if
    /// it did happen, the catalogue would be empty and know no model.
    pub fn builtin() -> &'static Self {
        static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::parse(BUILTIN).unwrap_or_default());
        &CATALOGUE
    }

    /// Reads a catalogue from TOML.
    ///
    /// # Errors
    /// `invalid-request` when the text is not a catalogue, a slug stands twice or
    /// a default names an entry that does not exist.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = |message: String| Error::new(Cause::InvalidRequest, message);
        let file: File = toml::from_str(text).map_err(|e| bad(format!("the catalogue cannot be read: {e}")))?;
        let mut catalogue = Self { models: file.gpu, ..Self::default() };
        for (i, model) in catalogue.models.iter().enumerate() {
            if catalogue.models.iter().take(i).any(|m| m.slug == model.slug) {
                return Err(bad(format!("the catalogue has `{}` twice", model.slug)));
            }
            for name in model.names() {
                let entries = catalogue.by_key.entry(key(name)).or_default();
                if !entries.contains(&i) {
                    entries.push(i);
                }
            }
        }
        for default in file.default {
            let at = catalogue.models.iter().position(|m| m.slug == default.slug).ok_or_else(|| {
                bad(format!("`{}` is to mean `{}`, which the catalogue does not have", default.typed, default.slug))
            })?;
            catalogue.defaults.insert(key(&default.typed), at);
        }
        Ok(catalogue)
    }

    /// Every model.
    pub fn models(&self) -> &[GpuModel] {
        &self.models
    }

    /// The model with exactly this slug.
    pub fn get(&self, slug: &str) -> Option<&GpuModel> {
        self.models.iter().find(|m| m.slug == slug)
    }

    /// The one model that `typed` means. Case, spaces, dashes and vendor words do
    /// not matter; `24G`, `24GB` and `24 GiB` are the same.
    ///
    /// # Errors
    /// `unknown-gpu` with the nearest names in the hint, `ambiguous-gpu` with the
    /// candidates in the message.
    pub fn resolve(&self, typed: &str) -> Result<&GpuModel> {
        self.pick(typed, self.fits(typed))
    }

    /// As [`Self::resolve`], but a name that fits several entries means the one
    /// that is offered when exactly one of them is.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn resolve_among<'a>(&'a self, typed: &str, offered: impl Fn(&GpuModel) -> bool) -> Result<&'a GpuModel> {
        let fits = self.fits(typed);
        let mut here = fits.iter().copied().filter(|m| offered(m));
        match (here.next(), here.next()) {
            (Some(only), None) => Ok(only),
            _ => self.pick(typed, fits),
        }
    }

    /// Every model that `typed` may mean, best known first; empty when there is none.
    pub fn fits(&self, typed: &str) -> Vec<&GpuModel> {
        let wanted = key(typed);
        if let Some(model) = self.defaults.get(&wanted).and_then(|i| self.models.get(*i)) {
            return vec![model];
        }
        if let Some(exact) = self.by_key.get(&wanted) {
            return exact.iter().filter_map(|i| self.models.get(*i)).collect();
        }
        let wanted = tokens(typed);
        if wanted.is_empty() {
            return Vec::new();
        }
        self.models.iter().filter(|m| names::covers(&m.tokens(), &wanted)).collect()
    }

    fn pick<'a>(&'a self, typed: &str, fits: Vec<&'a GpuModel>) -> Result<&'a GpuModel> {
        match fits.as_slice() {
            [one] => Ok(one),
            [] => Err(self.unknown(typed)),
            several => {
                let names: Vec<&str> = several.iter().map(|m| m.name.as_str()).collect();
                let shown = names::shown(typed);
                Err(Error::new(Cause::AmbiguousGpu, format!("`{shown}` fits several cards: {}", names.join(", ")))
                    .hint(format!("write the whole name, for example \"{}\"", names.first().unwrap_or(&""))))
            }
        }
    }

    fn unknown(&self, typed: &str) -> Error {
        let near = names::nearest(&key(typed), self.by_key.iter().map(|(k, v)| (k.as_str(), v.as_slice())));
        let near: Vec<&str> = near.into_iter().filter_map(|i| self.models.get(i)).map(|m| m.name.as_str()).collect();
        let error = Error::new(Cause::UnknownGpu, format!("no card is known as `{}`", names::shown(typed)));
        if near.is_empty() {
            error.hint("`suanli offers` lists the cards that can be rented")
        } else {
            error.hint(format!("did you mean {}?", near.join(" or ")))
        }
    }

    /// The model of a card that reports this name and this much memory (MiB);
    /// `None` when no entry fits both. Never a guess: an RTX 4090 with an
    /// unheard-of amount of memory is not known.
    pub fn identify(&self, nvml_name: &str, memory_mib: i64) -> Option<&GpuModel> {
        let name = names::driver_key(nvml_name);
        let mut fits = self
            .models
            .iter()
            .filter(|m| m.nvml_names.iter().any(|n| names::driver_key(n) == name) && m.reports_about(memory_mib));
        match (fits.next(), fits.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    }
}

impl GpuModel {
    fn names(&self) -> impl Iterator<Item = &str> {
        [self.slug.as_str(), self.name.as_str()]
            .into_iter()
            .chain(self.aliases.iter().map(String::as_str))
            .chain(self.nvml_names.iter().map(String::as_str))
    }

    fn tokens(&self) -> Vec<String> {
        let mut all: Vec<String> = self.names().flat_map(tokens).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether a card of this model can report `mib` of memory: up to a tenth is
    /// held back by error correction and firmware.
    fn reports_about(&self, mib: i64) -> bool {
        let nominal = self.memory_gib.saturating_mul(1_024);
        mib.saturating_mul(100) >= nominal.saturating_mul(90) && mib.saturating_mul(100) <= nominal.saturating_mul(102)
    }
}

#[cfg(test)]
mod tests;
