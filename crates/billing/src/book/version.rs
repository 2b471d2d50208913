//! The version of a price book: equal for equal content, whatever its comments,
//! order or spelling of names.

use base::{Money, Rate};
use domain::resources::Resources;

use super::{ModelPrice, PriceBook};

/// Sixteen hex digits over every value of the book.
///
/// A change of this text changes the version of every book there is, so a new
/// value is added at its end and only where a book uses it.
pub(super) fn of(book: &PriceBook) -> String {
    let mut text = Canonical::default();
    text.word(&book.name).word(&book.currency).word(&book.dated);
    text.rate(book.extra_cpu).rate(book.extra_memory_gib);
    text.rate(book.storage.disk_gib).rate(book.storage.volume_gib).rate(book.storage.image_gib);
    text.number(book.storage.free_gib);
    let shares = [
        book.spot_discount,
        book.rail8_surcharge,
        book.hold_share,
        book.year_pack_bonus,
        book.exclusive_node_surcharge,
    ];
    for share in shares {
        text.number(share.millionths());
    }
    for tier in &book.tiers {
        text.word("tier").number(tier.above.micros()).number(tier.discount.millionths());
    }
    for model in book.models.values() {
        text.model(model);
    }
    format!("{:016x}", fnv1a(text.0.as_bytes()))
}

/// Values one after the other, each with its length or an end mark, so that no
/// two different books have the same text.
#[derive(Default)]
struct Canonical(String);

impl Canonical {
    fn word(&mut self, word: &str) -> &mut Self {
        self.0.push_str(&format!("{}:{word};", word.len()));
        self
    }

    fn number(&mut self, number: i64) -> &mut Self {
        self.0.push_str(&format!("{number};"));
        self
    }

    fn rate(&mut self, rate: Rate) -> &mut Self {
        self.number(rate.micros_per_hour())
    }

    fn maybe(&mut self, number: Option<i64>) -> &mut Self {
        match number {
            Some(number) => self.number(number),
            None => self.word(""),
        }
    }

    fn model(&mut self, m: &ModelPrice) {
        let Resources { cpus, memory_gib, disk_gib } = m.includes;
        self.word("model").word(&m.gpu);
        self.maybe(m.on_demand.map(Rate::micros_per_hour)).maybe(m.spot.map(Rate::micros_per_hour));
        self.maybe(m.spot_discount.map(|s| s.millionths()));
        self.maybe(m.month.map(Money::micros)).maybe(m.year.map(Money::micros));
        self.number(cpus).number(memory_gib).number(disk_gib);
        self.word(m.note.as_deref().unwrap_or("")).number(i64::from(m.demonstration));
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
