//! From TOML text to a price book.

use std::collections::BTreeMap;

use base::{Cause, Rate};
use domain::catalogue::Catalogue;
use domain::resources::{MAX_CPUS, MAX_DISK_GIB, MAX_MEMORY_GIB, Resources};
use toml::de::DeTable;

use super::reader::{At, Reader, join};
use super::{Finding, ModelPrice, PriceBook, Storage, Tier, version};
use crate::Share;

const TOP: [&str; 13] = [
    "name",
    "currency",
    "dated",
    "extra_cpu",
    "extra_memory_gib",
    "storage",
    "spot_discount",
    "rail8_surcharge",
    "hold_share",
    "year_pack_bonus",
    "exclusive_node_surcharge",
    "tier",
    "model",
];
const MODEL: [&str; 9] =
    ["gpu", "on_demand", "spot", "spot_discount", "month", "year", "includes", "note", "demonstration"];

/// The book, if its form allows one, and every error. With errors the book is
/// not to be used; it exists so that warnings can be shown beside them.
pub(super) fn read(text: &str, catalogue: &Catalogue) -> (Option<PriceBook>, Vec<Finding>) {
    let mut r = Reader::new(text);
    let top = match DeTable::parse(text) {
        Ok(top) => top,
        Err(error) => {
            r.broken(&error);
            return (None, r.errors);
        }
    };
    let at = At { table: top.get_ref(), path: "", offset: 0 };
    r.known(at, &TOP);
    let name = r.required(at, "name").unwrap_or_default();
    let currency = r.required(at, "currency").unwrap_or_default();
    if at.table.contains_key("currency") && (currency.len() != 3 || !currency.bytes().all(|b| b.is_ascii_uppercase())) {
        let offset = at.table.get("currency").map(|v| v.span().start);
        r.error(offset, "currency", "is not a currency code".to_owned(), "use three capital letters, for example CNY");
    }
    let book = PriceBook {
        name,
        currency,
        dated: dated(&mut r, at),
        version: String::new(),
        extra_cpu: r.rate(at, "extra_cpu").unwrap_or_default(),
        extra_memory_gib: r.rate(at, "extra_memory_gib").unwrap_or_default(),
        storage: storage(&mut r, at),
        spot_discount: discount(&mut r, at).unwrap_or(Share::percent(60)),
        rail8_surcharge: r.share_up_to(at, "rail8_surcharge", Share::percent(1_000)).unwrap_or_default(),
        hold_share: r.share_up_to(at, "hold_share", Share::ALL).unwrap_or(Share::ALL),
        year_pack_bonus: r.share_up_to(at, "year_pack_bonus", Share::percent(1_000)).unwrap_or_default(),
        exclusive_node_surcharge: r
            .share_up_to(at, "exclusive_node_surcharge", Share::percent(1_000))
            .unwrap_or_default(),
        tiers: tiers(&mut r, at),
        models: models(&mut r, at, catalogue),
    };
    let version = version::of(&book);
    (Some(PriceBook { version, ..book }), r.errors)
}

fn dated(r: &mut Reader<'_>, at: At<'_, '_>) -> String {
    let dated = r.required(at, "dated").unwrap_or_default();
    let form = dated.len() == 10
        && dated.bytes().enumerate().all(|(i, b)| if matches!(i, 4 | 7) { b == b'-' } else { b.is_ascii_digit() });
    if !form && !dated.is_empty() {
        let offset = at.table.get("dated").map(|v| v.span().start);
        r.error(offset, "dated", "is not a day".to_owned(), "write it like \"2026-03-01\"");
    }
    dated
}

/// A spot discount; one below nothing would put spot above on-demand.
fn discount(r: &mut Reader<'_>, at: At<'_, '_>) -> Option<Share> {
    let share = r.share(at, "spot_discount")?;
    if (Share::NONE..=Share::ALL).contains(&share) {
        return Some(share);
    }
    let offset = at.table.get("spot_discount").map(|v| v.span().start);
    let path = join(at.path, "spot_discount");
    if share < Share::NONE {
        let message = format!("{share} puts spot above on-demand");
        r.error(offset, &path, message, "a discount is written without a minus sign, for example 60%");
    } else {
        r.error(offset, &path, format!("{share} is more than the whole price"), "use 0% to 100%");
    }
    None
}

fn storage(r: &mut Reader<'_>, at: At<'_, '_>) -> Storage {
    let Some((table, offset)) = r.table(at, "storage") else { return Storage::default() };
    let at = At { table, path: "storage", offset };
    r.known(at, &["disk_gib", "volume_gib", "image_gib", "free_gib"]);
    Storage {
        disk_gib: r.rate(at, "disk_gib").unwrap_or_default(),
        volume_gib: r.rate(at, "volume_gib").unwrap_or_default(),
        image_gib: r.rate(at, "image_gib").unwrap_or_default(),
        free_gib: r.whole(at, "free_gib", 0, MAX_DISK_GIB).unwrap_or(0),
    }
}

fn tiers(r: &mut Reader<'_>, at: At<'_, '_>) -> Vec<Tier> {
    let mut tiers: Vec<Tier> = Vec::new();
    for (i, (table, offset)) in r.tables(at, "tier").into_iter().enumerate() {
        let path = format!("tier[{i}]");
        let at = At { table, path: &path, offset };
        r.known(at, &["above", "discount"]);
        for key in ["above", "discount"] {
            if !table.contains_key(key) {
                r.error(
                    Some(offset),
                    &join(&path, key),
                    "is missing".to_owned(),
                    "a bracket needs `above` and `discount`",
                );
            }
        }
        let above = r.money(at, "above");
        let discount = r.share_up_to(at, "discount", Share::ALL);
        let (Some(above), Some(discount)) = (above, discount) else { continue };
        if tiers.last().is_some_and(|last| last.above >= above) {
            let message = format!("{above} does not come after the bracket before it");
            r.error(Some(offset), &join(&path, "above"), message, "sort the brackets by `above`, smallest first");
        }
        tiers.push(Tier { above, discount });
    }
    tiers
}

fn models(r: &mut Reader<'_>, at: At<'_, '_>, catalogue: &Catalogue) -> BTreeMap<String, ModelPrice> {
    let mut models: BTreeMap<String, ModelPrice> = BTreeMap::new();
    let mut lines: BTreeMap<String, Option<usize>> = BTreeMap::new();
    let rows = r.tables(at, "model");
    if rows.is_empty() {
        r.error(None, "model", "the book has no prices".to_owned(), "add a [[model]] with gpu and on_demand");
    }
    for (i, (table, offset)) in rows.into_iter().enumerate() {
        let path = format!("model[{i}]");
        let at = At { table, path: &path, offset };
        let Some(row) = model(r, at, catalogue) else { continue };
        if let Some(first) = lines.get(&row.gpu) {
            let first = first.map_or(String::new(), |l| format!(", first in line {l}"));
            let message = format!("{} is there twice{first}", row.gpu);
            r.error(Some(offset), &join(&path, "gpu"), message, "keep one of the two");
            continue;
        }
        lines.insert(row.gpu.clone(), r.line(offset));
        models.insert(row.gpu.clone(), row);
    }
    models
}

fn model(r: &mut Reader<'_>, at: At<'_, '_>, catalogue: &Catalogue) -> Option<ModelPrice> {
    r.known(at, &MODEL);
    let typed = r.required(at, "gpu");
    let on_demand = r.rate(at, "on_demand");
    let row = ModelPrice {
        gpu: String::new(),
        on_demand,
        spot: spot(r, at, on_demand),
        spot_discount: discount(r, at),
        month: r.money(at, "month"),
        year: r.money(at, "year"),
        includes: includes(r, at),
        note: r.text(at, "note").map(|(text, _)| text),
        demonstration: r.flag(at, "demonstration"),
    };
    if !["on_demand", "month", "year"].iter().any(|k| at.table.contains_key(*k)) {
        r.error(Some(at.offset), at.path, "has no price".to_owned(), "add on_demand, month or year");
    }
    match catalogue.resolve(&typed?) {
        Ok(found) => Some(ModelPrice { gpu: found.slug.clone(), ..row }),
        Err(e) => {
            let offset = at.table.get("gpu").map(|v| v.span().start);
            let hint = match e.cause() {
                Cause::AmbiguousGpu => "name one of them; a price for several needs a row each",
                _ => e.hint_text().unwrap_or("use a name or slug of the catalogue"),
            };
            r.error(offset, &join(at.path, "gpu"), e.message().to_owned(), hint);
            None
        }
    }
}

fn spot(r: &mut Reader<'_>, at: At<'_, '_>, on_demand: Option<Rate>) -> Option<Rate> {
    let spot = r.rate(at, "spot")?;
    let offset = at.table.get("spot").map(|v| v.span().start);
    let path = join(at.path, "spot");
    match on_demand {
        Some(list) if spot > list => {
            r.error(offset, &path, format!("spot {spot} is above on-demand {list}"), "lower it, or leave it out");
        }
        None if !at.table.contains_key("on_demand") => {
            r.error(offset, &path, "there is no on-demand price".to_owned(), "add on_demand, or leave spot out");
        }
        _ => {}
    }
    if at.table.contains_key("spot_discount") {
        r.error(offset, &path, "spot and spot_discount exclude each other".to_owned(), "keep one of the two");
    }
    Some(spot)
}

fn includes(r: &mut Reader<'_>, at: At<'_, '_>) -> Resources {
    let default = Resources::PER_DEVICE;
    let Some((table, offset)) = r.table(at, "includes") else { return default };
    let path = join(at.path, "includes");
    let at = At { table, path: &path, offset };
    r.known(at, &["cpus", "memory_gib", "disk_gib"]);
    Resources {
        cpus: r.whole(at, "cpus", 1, MAX_CPUS).unwrap_or(default.cpus),
        memory_gib: r.whole(at, "memory_gib", 1, MAX_MEMORY_GIB).unwrap_or(default.memory_gib),
        disk_gib: r.whole(at, "disk_gib", 1, MAX_DISK_GIB).unwrap_or(default.disk_gib),
    }
}
