//! One figure, as `bench/results.jsonl` keeps it.

use serde::Serialize;

/// What was measured, beside its peer where there is one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What, in dotted words: `rent.p50`.
    pub name: String,
    /// Ours.
    pub value: f64,
    /// Unit of both values.
    pub unit: &'static str,
    /// What it is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The peer's value, from the same run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_value: Option<f64>,
    /// Ours divided by the peer's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// How many measurements are behind it.
    pub runs: usize,
    /// How it was measured, and what to beware of.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Figure {
    /// A figure by itself.
    pub fn new(name: impl Into<String>, value: f64, unit: &'static str, runs: usize) -> Self {
        let value = rounded(value);
        Self { name: name.into(), value, unit, peer: None, peer_value: None, ratio: None, runs, note: String::new() }
    }

    /// The same beside a peer's value. No ratio to nothing: it would not be a number.
    pub fn beside(mut self, peer: &str, value: f64) -> Self {
        self.peer = Some(peer.to_owned());
        self.peer_value = Some(rounded(value));
        self.ratio = (value != 0.0).then(|| rounded(self.value / value));
        self
    }

    /// The same with a note.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

/// To three decimals: more would pretend a precision that no run here has.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_brings_its_value_and_the_ratio() {
        let figure = Figure::new("a.b", 30.000_4, "ms", 5).beside("other", 20.0);
        let text = serde_json::to_string(&figure).unwrap();
        assert_eq!(
            text,
            r#"{"name":"a.b","value":30.0,"unit":"ms","peer":"other","peer_value":20.0,"ratio":1.5,"runs":5}"#
        );
    }

    #[test]
    fn nothing_is_divided_by_zero() {
        assert_eq!(Figure::new("a", 1.0, "ms", 1).beside("other", 0.0).ratio, None);
    }
}
