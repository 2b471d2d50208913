//! What can be rented now: stock counted in the database, joined with prices.
//!
//! Offers are asked for far more often than stock changes, so the answer is kept
//! until the next write, and counted at most every [`FRESH`].

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use api::offer::{Offer, OfferQuery, Offers};
use base::{Error, Money, Rate, Result, Span, Timestamp};
use bytes::Bytes;
use store::fleet::{self, Stock};

use crate::state::App;

/// How old counted stock may be.
const FRESH: Span = Span::from_millis(250);

/// Age from which it is counted again behind the back of whoever asks: where many
/// ask, none of them ever waits for a count.
const AHEAD: Span = Span::from_millis(100);

/// Different filters that are remembered.
const MOST_ANSWERS: usize = 256;

/// Offers as they were counted last, and the answers made from them.
#[derive(Default)]
pub struct StockCache {
    kept: Mutex<Option<Kept>>,
    counting: std::sync::Arc<tokio::sync::Mutex<()>>,
}

struct Kept {
    counted_at: Timestamp,
    offers: std::sync::Arc<Offers>,
    answers: BTreeMap<String, Bytes>,
}

impl StockCache {
    /// Counts again at the next question.
    pub fn forget(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether what is kept will soon be too old.
    fn is_ageing(&self, now: Timestamp) -> bool {
        self.fresh(now, |k| now.since(k.counted_at) >= AHEAD) == Some(true)
    }

    fn fresh<T>(&self, now: Timestamp, read: impl FnOnce(&mut Kept) -> T) -> Option<T> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_mut().filter(|k| now.since(k.counted_at) < FRESH).map(read)
    }
}

/// All offers, counted at most [`FRESH`] ago.
///
/// # Errors
/// The database's.
pub async fn offers(app: &App) -> Result<std::sync::Arc<Offers>> {
    if let Some(offers) = app.stock.fresh(app.now(), |k| k.offers.clone()) {
        return Ok(offers);
    }
    let _one = app.stock.counting.lock().await;
    if let Some(offers) = app.stock.fresh(app.now(), |k| k.offers.clone()) {
        return Ok(offers);
    }
    count(app).await
}

/// Counts in the background if what is kept will soon be too old and nobody counts yet.
fn count_ahead(app: &App) {
    if !app.stock.is_ageing(app.now()) {
        return;
    }
    let Ok(counting) = app.stock.counting.clone().try_lock_owned() else {
        return;
    };
    let app = app.clone();
    tokio::spawn(async move {
        let _one = counting;
        if let Err(error) = count(&app).await {
            tracing::debug!(%error, "stock is counted at the next question");
        }
    });
}

async fn count(app: &App) -> Result<std::sync::Arc<Offers>> {
    let counted_at = app.now();
    let rows = {
        let mut db = app.store.read().await?;
        fleet::stock(&mut db, "").await?
    };
    let offers = std::sync::Arc::new(join(app, &rows, counted_at));
    let kept = Kept { counted_at, offers: offers.clone(), answers: BTreeMap::new() };
    *app.stock.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    Ok(offers)
}

/// The JSON answer to a filter.
///
/// # Errors
/// A filter that is not understood, or the database's.
pub async fn answer(app: &App, query: &OfferQuery) -> Result<Bytes> {
    count_ahead(app);
    let key = serde_json::to_string(query).map_err(Error::internal)?;
    if let Some(Some(bytes)) = app.stock.fresh(app.now(), |k| k.answers.get(&key).cloned()) {
        return Ok(bytes);
    }
    let all = offers(app).await?;
    let filtered = filter(app, &all, query)?;
    let bytes = Bytes::from(serde_json::to_vec(&filtered).map_err(Error::internal)?);
    app.stock.fresh(app.now(), |k| {
        if k.answers.len() < MOST_ANSWERS && k.counted_at == filtered.counted_at {
            k.answers.insert(key, bytes.clone());
        }
    });
    Ok(bytes)
}

fn join(app: &App, rows: &[Stock], counted_at: Timestamp) -> Offers {
    let book = app.book();
    let mut offers: BTreeMap<(&str, &str, bool), Offer> = BTreeMap::new();
    for row in rows {
        let Some(model) = app.catalogue.get(&row.gpu) else {
            continue;
        };
        let price = book.models.get(&row.gpu);
        let offer = offers.entry((row.gpu.as_str(), row.isolation.as_str(), row.fake)).or_insert_with(|| {
            let includes = price.map_or(domain::resources::Resources::PER_DEVICE, |p| p.includes);
            Offer {
                gpu: model.slug.clone(),
                name: model.name.clone(),
                vram_gib: model.memory_gib,
                free: 0,
                total: 0,
                largest_free_set: 0,
                largest_set: 0,
                isolation: row.isolation.clone(),
                fake: row.fake,
                demonstration_price: price.is_some_and(|p| p.demonstration),
                on_demand: price.and_then(|p| p.on_demand),
                cpus: includes.cpus,
                memory_gib: includes.memory_gib,
                disk_gib: includes.disk_gib,
            }
        });
        offer.total += row.total;
        offer.largest_set = offer.largest_set.max(row.total);
        if row.ready {
            offer.free += row.free;
            offer.largest_free_set = offer.largest_free_set.max(row.free);
        }
    }
    let mut offers: Vec<_> = offers.into_values().collect();
    offers.sort_by(|a, b| {
        (a.on_demand.is_none(), a.on_demand, &a.gpu).cmp(&(b.on_demand.is_none(), b.on_demand, &b.gpu))
    });
    Offers { currency: book.currency.clone(), price_version: book.version.clone(), counted_at, offers }
}

fn filter(app: &App, all: &Offers, query: &OfferQuery) -> Result<Offers> {
    if let Some(plan) = &query.plan {
        crate::rent::plan(plan)?;
    }
    let wanted: Option<Vec<&str>> = match &query.gpu {
        Some(name) => {
            let fits = app.catalogue.fits(name);
            if fits.is_empty() {
                app.catalogue.resolve(name)?;
            }
            Some(fits.iter().map(|m| m.slug.as_str()).collect())
        }
        None => None,
    };
    let most: Option<Rate> = query
        .max_price
        .as_deref()
        .map(|text| text.parse::<Money>().map(|m| Rate::from_micros_per_hour(m.micros())))
        .transpose()?;
    let fits = |o: &&Offer| {
        wanted.as_ref().is_none_or(|w| w.contains(&o.gpu.as_str()))
            && query.count.is_none_or(|count| o.largest_set >= count)
            && query.min_vram.is_none_or(|least| o.vram_gib >= least)
            && most.is_none_or(|most| o.on_demand.is_some_and(|price| price <= most))
    };
    let offers = all.offers.iter().filter(fits).cloned().collect();
    Ok(Offers { offers, ..all.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_counted_again_before_anybody_has_to_wait_and_never_shown_too_old() {
        let cache = StockCache::default();
        let at = |millis| Timestamp::EPOCH.after(Span::from_millis(millis));
        assert!(!cache.is_ageing(at(0)), "nothing was counted yet");
        let counted_at = at(0);
        let offers = Offers { currency: "CNY".into(), price_version: "v1".into(), counted_at, offers: vec![] };
        let kept = Kept { counted_at, offers: std::sync::Arc::new(offers), answers: BTreeMap::new() };
        *cache.kept.lock().unwrap() = Some(kept);
        assert!(!cache.is_ageing(at(99)) && cache.is_ageing(at(100)) && cache.is_ageing(at(249)));
        assert!(!cache.is_ageing(at(250)), "too old: whoever asks counts");
        assert!(cache.fresh(at(249), |_| ()).is_some() && cache.fresh(at(250), |_| ()).is_none());
        cache.forget();
        assert!(cache.fresh(at(1), |_| ()).is_none(), "a new price book shows at once");
    }
}
