//! What other services have said of themselves, kept for a while.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use base::{Span, Timestamp};

/// Answers by address, none of them older than its time.
#[derive(Debug)]
pub struct Known<T> {
    lasts: Span,
    answers: Mutex<BTreeMap<String, (Timestamp, T)>>,
}

impl<T: Clone> Known<T> {
    /// Nothing yet; each answer lasts so long.
    pub const fn for_span(lasts: Span) -> Self {
        Self { lasts, answers: Mutex::new(BTreeMap::new()) }
    }

    /// What is known of an address now.
    pub fn get(&self, address: &str, now: Timestamp) -> Option<T> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(address).filter(|(at, _)| self.is_fresh(*at, now)).map(|(_, answer)| answer.clone())
    }

    /// Keeps an answer; what is too old is forgotten with it.
    pub fn keep(&self, address: &str, answer: T, now: Timestamp) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.retain(|_, (at, _)| self.is_fresh(*at, now));
        answers.insert(address.to_owned(), (now, answer));
    }

    /// Also false after the clock was set back: nothing is kept longer than it may be.
    fn is_fresh(&self, at: Timestamp, now: Timestamp) -> bool {
        let age = now.since(at);
        age >= Span::ZERO && age < self.lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_lasts_its_time_and_is_then_forgotten() {
        let known = Known::for_span(Span::from_secs(60));
        let at = |secs: i64| Timestamp::EPOCH.after(Span::from_secs(secs));
        known.keep("a", 1, at(100));
        assert_eq!((known.get("a", at(100)), known.get("a", at(159))), (Some(1), Some(1)));
        for late in [at(160), at(99)] {
            assert_eq!(known.get("a", late), None);
        }
        assert_eq!(known.get("b", at(100)), None);
        known.keep("a", 2, at(120));
        assert_eq!(known.get("a", at(170)), Some(2));
        known.keep("b", 3, at(200));
        assert_eq!(known.answers.lock().unwrap().len(), 1, "what is too old takes no room");
    }
}
