use super::*;
use proptest::prelude::*;

fn slug(typed: &str) -> String {
    Catalogue::builtin().resolve(typed).map_or_else(|e| e.cause().to_string(), |m| m.slug.clone())
}

#[test]
fn the_data_file_is_whole() {
    let catalogue = Catalogue::parse(BUILTIN).unwrap();
    assert_eq!(catalogue.models().len(), 80);
    for m in catalogue.models() {
        assert!(m.slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{}", m.slug);
        assert!(m.memory_gib > 0 && !m.vendor.is_empty() && !m.source.is_empty(), "{}", m.slug);
        assert!(m.name.ends_with(&format!("{}G", m.memory_gib)), "{} names its memory", m.name);
        let rates = [m.specs.mem_bw_gbs, m.specs.fp32_tflops, m.specs.bf16_tflops, m.specs.tdp_w];
        assert!(rates.into_iter().flatten().all(|r| r > 0.0 && r.is_finite()), "{}", m.slug);
    }
    assert_eq!(Catalogue::builtin().models(), catalogue.models());
}

#[test]
fn every_entry_answers_to_its_slug_and_full_name() {
    for m in Catalogue::builtin().models() {
        assert_eq!(slug(&m.slug), m.slug);
        assert_eq!(slug(&m.name), m.slug);
        assert_eq!(slug(&format!("{}B", m.name.to_uppercase())), m.slug);
        assert_eq!(Catalogue::builtin().get(&m.slug).unwrap().slug, m.slug);
    }
}

#[test]
fn every_alias_fits_at_least_the_entry_that_has_it() {
    let catalogue = Catalogue::builtin();
    for m in catalogue.models() {
        for alias in &m.aliases {
            let fits = catalogue.fits(alias);
            let decided = catalogue.defaults.contains_key(&key(alias));
            assert!(decided || fits.iter().any(|f| f.slug == m.slug), "{alias} of {}", m.slug);
        }
    }
}

#[test]
fn names_as_people_type_them() {
    for (typed, want) in [
        ("RTX 4090", "rtx-4090-24g"),
        ("4090", "rtx-4090-24g"),
        ("rtx4090", "rtx-4090-24g"),
        ("RTX-4090-24GB", "rtx-4090-24g"),
        ("4090 24 GiB", "rtx-4090-24g"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090-24g"),
        ("4090 48G", "rtx-4090-48g"),
        ("RTX 4090 48GB modded", "rtx-4090-48g"),
        ("4090D", "rtx-4090-d-24g"),
        ("3090", "rtx-3090-24g"),
        ("T4", "t4-16g"),
        ("Tesla T4", "t4-16g"),
        ("l40s", "l40s-48g"),
        ("L40", "l40-48g"),
        ("A10", "a10-24g"),
        ("a10g", "a10g-24g"),
        ("A100 SXM 80G", "a100-sxm4-80g"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80g"),
        ("A100-PCIE-40GB", "a100-pcie-40g"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80g"),
        ("80g pcie a100", "a100-pcie-80g"),
        ("H100 SXM", "h100-sxm5-80g"),
        ("H100 80G SXM", "h100-sxm5-80g"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80g"),
        ("H100 NVL", "h100-nvl-94g"),
        ("B200", "b200-sxm-180g"),
        ("GB200", "gb200-186g"),
        ("RTX A6000", "rtx-a6000-48g"),
        ("A6000", "rtx-a6000-48g"),
        ("6000 Ada", "rtx-6000-ada-48g"),
        ("910B2", "ascend-910b2-64g"),
        ("MI300X", "mi300x-192g"),
        ("ＲＴＸ　４０９０", "rtx-4090-24g"),
        ("Ａ１００　ＳＸＭ 80G", "a100-sxm4-80g"),
        ("昇腾 910B2", "ascend-910b2-64g"),
        ("英伟达 RTX 4090", "rtx-4090-24g"),
        ("H200", "ambiguous-gpu"),
        ("H100", "ambiguous-gpu"),
        ("A100", "ambiguous-gpu"),
        ("A100 40G", "ambiguous-gpu"),
        ("A100 80GB", "ambiguous-gpu"),
        ("V100 32G", "ambiguous-gpu"),
        ("Ascend 910B", "ambiguous-gpu"),
        ("RTX PRO 6000", "ambiguous-gpu"),
        ("RTX 9999", "unknown-gpu"),
        ("RTX 4090 32G", "unknown-gpu"),
        ("A100 24G", "unknown-gpu"),
        ("NVIDIA", "unknown-gpu"),
        ("RTX", "unknown-gpu"),
        ("", "unknown-gpu"),
        ("  ", "unknown-gpu"),
        ("g", "unknown-gpu"),
    ] {
        assert_eq!(slug(typed), want, "{typed:?}");
    }
}

#[test]
fn an_ambiguous_name_lists_its_candidates_and_only_those() {
    let error = Catalogue::builtin().resolve("A100 40G").unwrap_err();
    assert_eq!(error.message(), "`A100 40G` fits several cards: A100 PCIe 40G, A100 SXM4 40G");
    assert_eq!(error.hint_text(), Some("write the whole name, for example \"A100 PCIe 40G\""));
}

#[test]
fn an_unknown_name_gets_the_nearest_ones_or_a_way_to_look() {
    let hint = |typed: &str| Catalogue::builtin().resolve(typed).unwrap_err().hint_text().unwrap().to_owned();
    assert!(hint("RTX 4091").contains("RTX 4090 24G"), "{}", hint("RTX 4091"));
    assert!(hint("L4OS").contains("L40S 48G"), "{}", hint("L4OS"));
    assert!(hint("H10O SXM").contains("H100 SXM5 80G"), "{}", hint("H10O SXM"));
    assert_eq!(hint("a very fast toaster"), "`suanli offers` lists the cards that can be rented");
}

#[test]
fn what_is_offered_decides_between_candidates() {
    let catalogue = Catalogue::builtin();
    let only = |slug: &'static str| move |m: &GpuModel| m.slug == slug;
    assert_eq!(catalogue.resolve_among("H100", only("h100-nvl-94g")).unwrap().slug, "h100-nvl-94g");
    assert_eq!(catalogue.resolve_among("H100", |_| true).unwrap_err().cause(), Cause::AmbiguousGpu);
    assert_eq!(catalogue.resolve_among("H100", |_| false).unwrap_err().cause(), Cause::AmbiguousGpu);
    assert_eq!(catalogue.resolve_among("RTX 4090", only("rtx-4090-48g")).unwrap().slug, "rtx-4090-24g");
    assert_eq!(catalogue.resolve_among("nothing", |_| true).unwrap_err().cause(), Cause::UnknownGpu);
}

#[test]
fn cards_are_identified_by_name_and_memory_together() {
    for (name, mib, want) in [
        ("NVIDIA GeForce RTX 4090", 24_564, Some("rtx-4090-24g")),
        ("NVIDIA GeForce RTX 4090", 49_140, Some("rtx-4090-48g")),
        ("NVIDIA GeForce RTX 4090", 32_000, None),
        ("NVIDIA GeForce RTX 4090 D", 24_564, Some("rtx-4090-d-24g")),
        ("GeForce RTX 3090", 24_576, Some("rtx-3090-24g")),
        ("NVIDIA A100-SXM4-80GB", 81_920, Some("a100-sxm4-80g")),
        ("A100-SXM4-40GB", 40_536, Some("a100-sxm4-40g")),
        ("NVIDIA A100-PCIE-40GB", 40_960, Some("a100-pcie-40g")),
        ("NVIDIA A100 80GB PCIe", 81_920, Some("a100-pcie-80g")),
        ("NVIDIA H100 80GB HBM3", 81_559, Some("h100-sxm5-80g")),
        ("NVIDIA H200", 143_771, Some("h200-sxm-141g")),
        ("NVIDIA B200", 183_359, Some("b200-sxm-180g")),
        ("NVIDIA L40S", 46_068, Some("l40s-48g")),
        ("Tesla T4", 15_360, Some("t4-16g")),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 4_864, None),
        ("NVIDIA A100-SXM4-40GB", 4_864, None),
        ("GRID A100-40C", 40_960, None),
        ("4090", 24_564, None),
        ("", 24_564, None),
        ("NVIDIA", 24_564, None),
    ] {
        let found = Catalogue::builtin().identify(name, mib).map(|m| m.slug.as_str());
        assert_eq!(found, want, "{name} with {mib} MiB");
    }
}

#[test]
fn every_reported_card_is_identified_as_itself() {
    for m in Catalogue::builtin().models() {
        for name in &m.nvml_names {
            let mib = m.nvml_total_mib.unwrap_or(m.memory_gib * 1_024);
            let found = Catalogue::builtin().identify(name, mib).map(|f| f.slug.as_str());
            assert_eq!(found, Some(m.slug.as_str()), "{name} with {mib} MiB");
        }
    }
}

#[test]
fn broken_catalogues_are_refused() {
    let row = "[[gpu]]\nslug='a'\nname='A 1G'\nvendor='V'\narch=''\nmemory_gib=1\naliases=[]\nnvml_names=[]\nsource='s'\nconfidence='low'\nnotes=''\n";
    assert_eq!(Catalogue::parse(row).unwrap().models().len(), 1);
    assert!(Catalogue::parse(&row.repeat(2)).unwrap_err().message().contains("twice"));
    let dangling = format!("{row}[[default]]\ntyped='x'\nslug='b'\nreason='r'\n");
    assert!(Catalogue::parse(&dangling).unwrap_err().message().contains("does not have"));
    assert!(Catalogue::parse("gpu = 1").is_err());
}

proptest! {
    #[test]
    fn any_text_has_an_answer(typed in any::<String>(), mib in any::<i64>()) {
        let catalogue = Catalogue::builtin();
        if let Err(error) = catalogue.resolve(&typed) {
            prop_assert!(matches!(error.cause(), Cause::UnknownGpu | Cause::AmbiguousGpu));
            prop_assert!(error.hint_text().is_some());
            prop_assert!(!error.message().chars().any(char::is_control));
        }
        let _ = catalogue.identify(&typed, mib);
    }

    #[test]
    fn spelling_does_not_matter(i in 0..80usize, upper in any::<bool>(), dash in "[-_ ./]{1,2}") {
        let model = &Catalogue::builtin().models()[i];
        let typed = model.name.replace(' ', &dash);
        let typed = if upper { typed.to_uppercase() } else { typed.to_lowercase() };
        prop_assert_eq!(&Catalogue::builtin().resolve(&typed).unwrap().slug, &model.slug);
    }
}
