//! Walking TOML and collecting every mistake instead of stopping at the first.

use std::ops::Range;

use base::{Money, Rate};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Finding;
use crate::Share;

/// Collects findings while a book is read.
pub(super) struct Reader<'t> {
    text: &'t str,
    pub(super) errors: Vec<Finding>,
}

/// A table and where it stands.
#[derive(Clone, Copy)]
pub(super) struct At<'a, 't> {
    pub(super) table: &'a DeTable<'t>,
    pub(super) path: &'a str,
    /// Start of the table in the text, for what is missing in it.
    pub(super) offset: usize,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, errors: Vec::new() }
    }

    pub(super) fn line(&self, offset: usize) -> Option<usize> {
        let before = self.text.as_bytes().get(..offset)?;
        Some(before.iter().filter(|b| **b == b'\n').count() + 1)
    }

    pub(super) fn error(&mut self, offset: Option<usize>, path: &str, message: String, hint: &str) {
        let line = offset.and_then(|o| self.line(o));
        self.errors.push(Finding { line, path: path.to_owned(), message, hint: hint.to_owned() });
    }

    pub(super) fn broken(&mut self, error: &toml::de::Error) {
        let offset = error.span().map(|s: Range<usize>| s.start);
        let message = error.message().to_owned();
        self.error(offset, "", message, "the file must be TOML; see the demonstration book for the form");
    }

    /// Reports keys that nothing reads, with the nearest one that something does.
    pub(super) fn known(&mut self, at: At<'_, '_>, known: &[&str]) {
        for (name, _) in at.table.iter() {
            let word: &str = name.get_ref();
            if known.contains(&word) {
                continue;
            }
            let near = known.iter().min_by_key(|k| differs(word, k)).filter(|k| differs(word, k) <= 1 + word.len() / 3);
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", known.join(", ")),
            };
            let shown: String = word.chars().take(60).collect();
            let path = join(at.path, &shown);
            self.error(Some(name.span().start), &path, format!("`{}` is not a known key", shown.escape_debug()), &hint);
        }
    }

    pub(super) fn text(&mut self, at: At<'_, '_>, key: &str) -> Option<(String, usize)> {
        let value = at.table.get(key)?;
        let offset = value.span().start;
        match value.get_ref().as_str() {
            Some(text) => Some((text.to_owned(), offset)),
            None => {
                let got = value.get_ref().type_str();
                let hint = "put it in quotes: amounts are decimal text so that no digit is lost";
                self.error(Some(offset), &join(at.path, key), format!("must be text, not {got}"), hint);
                None
            }
        }
    }

    pub(super) fn required(&mut self, at: At<'_, '_>, key: &str) -> Option<String> {
        if !at.table.contains_key(key) {
            self.error(Some(at.offset), &join(at.path, key), "is missing".to_owned(), "add it");
        }
        self.text(at, key).map(|(text, _)| text)
    }

    fn parsed<T>(
        &mut self,
        at: At<'_, '_>,
        key: &str,
        parse: impl Fn(&str) -> base::Result<T>,
        fits: impl Fn(&T) -> bool,
    ) -> Option<T> {
        let (text, offset) = self.text(at, key)?;
        let (message, hint) = match parse(&text) {
            Ok(value) if fits(&value) => return Some(value),
            Ok(_) => {
                (format!("{} is below nothing", text.escape_debug()), "prices and shares cannot be negative".to_owned())
            }
            Err(e) => (e.message().to_owned(), e.hint_text().unwrap_or("").to_owned()),
        };
        self.error(Some(offset), &join(at.path, key), message, &hint);
        None
    }

    pub(super) fn rate(&mut self, at: At<'_, '_>, key: &str) -> Option<Rate> {
        self.parsed(at, key, str::parse::<Rate>, |r| *r >= Rate::ZERO)
    }

    pub(super) fn money(&mut self, at: At<'_, '_>, key: &str) -> Option<Money> {
        self.parsed(at, key, str::parse::<Money>, |m| *m >= Money::ZERO)
    }

    /// A share; a negative one passes, for the caller to judge.
    pub(super) fn share(&mut self, at: At<'_, '_>, key: &str) -> Option<Share> {
        self.parsed(at, key, str::parse::<Share>, |_| true)
    }

    /// A share between nothing and `most`.
    pub(super) fn share_up_to(&mut self, at: At<'_, '_>, key: &str, most: Share) -> Option<Share> {
        let share = self.share(at, key)?;
        if (Share::NONE..=most).contains(&share) {
            return Some(share);
        }
        let offset = at.table.get(key).map(|v| v.span().start);
        self.error(offset, &join(at.path, key), format!("{share} is out of range"), &format!("use 0% to {most}"));
        None
    }

    pub(super) fn whole(&mut self, at: At<'_, '_>, key: &str, least: i64, most: i64) -> Option<i64> {
        let value = at.table.get(key)?;
        let number = match value.get_ref() {
            DeValue::Integer(n) => i64::from_str_radix(&n.as_str().replace('_', ""), n.radix()).ok(),
            _ => None,
        };
        let found = number.filter(|n| (least..=most).contains(n));
        if found.is_none() {
            let hint = format!("write a whole number from {least} to {most}");
            self.error(Some(value.span().start), &join(at.path, key), "is not a possible number".to_owned(), &hint);
        }
        found
    }

    pub(super) fn flag(&mut self, at: At<'_, '_>, key: &str) -> bool {
        let Some(value) = at.table.get(key) else { return false };
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.error(Some(value.span().start), &join(at.path, key), "is not true or false".to_owned(), "write true");
            false
        })
    }

    pub(super) fn table<'a, 's>(&mut self, at: At<'a, 's>, key: &str) -> Option<(&'a DeTable<'s>, usize)> {
        let value = at.table.get(key)?;
        let offset = value.span().start;
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.error(Some(offset), &join(at.path, key), "is not a table".to_owned(), "write key = value pairs in it");
        }
        table.map(|t| (t, offset))
    }

    pub(super) fn tables<'a, 's>(&mut self, at: At<'a, 's>, key: &str) -> Vec<(&'a DeTable<'s>, usize)> {
        let Some(value) = at.table.get(key) else { return Vec::new() };
        let items: &[Spanned<DeValue<'_>>] = match value.get_ref() {
            DeValue::Array(items) => items,
            _ => &[],
        };
        let tables: Vec<_> = items.iter().filter_map(|i| Some((i.get_ref().as_table()?, i.span().start))).collect();
        if tables.len() != items.len() || !value.get_ref().is_array() {
            let hint = format!("write each one under [[{key}]]");
            self.error(Some(value.span().start), &join(at.path, key), "is not a list of tables".to_owned(), &hint);
        }
        tables
    }
}

/// `storage` and `disk_gib` give `storage.disk_gib`.
pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// A cheap measure of how two keys differ: letters without a partner in order.
fn differs(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(40).collect(), b.chars().collect());
    let mut row = vec![0usize; b.len() + 1];
    for x in &a {
        let mut diagonal = 0;
        for (i, y) in b.iter().enumerate() {
            let above = row.get(i + 1).copied().unwrap_or(0);
            let left = row.get(i).copied().unwrap_or(0);
            let best = if x == y { diagonal + 1 } else { above.max(left) };
            diagonal = above;
            if let Some(cell) = row.get_mut(i + 1) {
                *cell = best;
            }
        }
    }
    let common = row.last().copied().unwrap_or(0);
    a.len().max(b.len()).saturating_sub(common)
}
