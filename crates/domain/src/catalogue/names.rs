//! How typed names are compared.

/// Words that carry no information about which card is meant.
const BRANDS: [&str; 14] = [
    "nvidia",
    "geforce",
    "tesla",
    "rtx",
    "amd",
    "instinct",
    "radeon",
    "intel",
    "huawei",
    "hygon",
    "英伟达",
    "华为",
    "昇腾",
    "海光",
];

/// Longest name worth comparing, characters; more is not a card's name.
const LONGEST: usize = 80;

/// A name reduced to what distinguishes it: lower case, letters and digits only,
/// memory sizes in one spelling, without brand words in front.
pub(super) fn key(name: &str) -> String {
    let flat: String = plain(name).filter(|c| c.is_alphanumeric()).take(LONGEST).flat_map(char::to_lowercase).collect();
    let mut rest = one_spelling(&flat);
    while let Some(shorter) = BRANDS.iter().find_map(|b| rest.strip_prefix(b)).filter(|s| !s.is_empty()) {
        rest = shorter.to_owned();
    }
    rest
}

/// The words of a name, in the spelling of [`key`], brand words left out.
pub(super) fn tokens(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let name: String = plain(name).collect();
    for word in name.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).take(LONGEST) {
        let word = one_spelling(&word.to_lowercase());
        let unit = matches!(word.as_str(), "g" | "gb" | "gib");
        match words.last_mut().filter(|last| unit && last.bytes().all(|b| b.is_ascii_digit())) {
            Some(last) => last.push('g'),
            None if BRANDS.contains(&word.as_str()) => {}
            None => words.push(word),
        }
    }
    words
}

/// Full-width letters and digits, as Chinese keyboards give them, become plain ones.
fn plain(name: &str) -> impl Iterator<Item = char> {
    name.chars().map(|c| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{3000}' => ' ',
        c => c,
    })
}

/// `24gb` and `24gib` become `24g`.
fn one_spelling(flat: &str) -> String {
    let mut out = String::with_capacity(flat.len());
    let mut rest = flat;
    while let Some(c) = rest.chars().next() {
        let after_digit = out.ends_with(|c: char| c.is_ascii_digit());
        let unit = ["gib", "gb"].into_iter().find_map(|u| rest.strip_prefix(u)).filter(|_| after_digit);
        if let Some(after) = unit {
            out.push('g');
            rest = after;
        } else {
            out.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or("");
        }
    }
    out
}

/// A driver's own name, with or without the maker in front (older drivers leave
/// it out); everything else counts.
pub(super) fn driver_key(name: &str) -> String {
    let words: Vec<String> = name.split_whitespace().map(str::to_lowercase).collect();
    let words = match words.split_first() {
        Some((first, rest)) if first == "nvidia" && !rest.is_empty() => rest.to_vec(),
        _ => words,
    };
    words.join(" ")
}

/// Whether every wanted word is among `has`; `sxm` also fits `sxm4`.
pub(super) fn covers(has: &[String], wanted: &[String]) -> bool {
    wanted.iter().all(|w| {
        has.iter().any(|h| {
            h == w
                || (w.bytes().all(|b| b.is_ascii_alphabetic())
                    && h.strip_prefix(w.as_str()).is_some_and(|tail| tail.bytes().all(|b| b.is_ascii_digit())))
        })
    })
}

/// A typed name, safe and short enough for a message.
pub(super) fn shown(typed: &str) -> String {
    let short: String = typed.chars().take(LONGEST).collect();
    short.escape_debug().to_string()
}

/// Positions behind the (at most three) keys that are nearest to `typed`.
pub(super) fn nearest<'a>(typed: &str, keys: impl Iterator<Item = (&'a str, &'a [usize])>) -> Vec<usize> {
    let mut found: Vec<(usize, usize)> = keys
        .flat_map(|(k, at)| {
            let far = distance(typed, k);
            let close = far <= typed.chars().count().max(3) / 3;
            at.iter().filter(move |_| close).map(move |i| (far, *i))
        })
        .collect();
    found.sort_unstable();
    let mut out = Vec::new();
    for (_, i) in found {
        if !out.contains(&i) && out.len() < 3 {
            out.push(i);
        }
    }
    out
}

/// Edits (insert, delete, replace) between two names.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let cost = diagonal + usize::from(x != *y);
            diagonal = *cell;
            left = cost.min(left + 1).min(*cell + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}
