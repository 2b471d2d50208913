//! What may be charged, counted from what really happened.
//!
//! No segments, postings, leases or states: only when a renter could use what he
//! had, when a stop was accepted, and what a witness can prove of that.

use std::collections::BTreeMap;

use base::{InstanceId, Money, Timestamp};
use store::events::{Audience, Event};
use store::segments;

use crate::laws::Broken;
use crate::machine::Run;
use crate::wire::lock;
use crate::world::World;

const END: Timestamp = Timestamp::from_micros(i64::MAX);

/// A stretch of time.
type Stretch = (Timestamp, Timestamp);

fn millis((from, to): Stretch) -> i64 {
    ((to.micros() - from.micros()) / 1_000).max(0)
}

/// Milliseconds of `[from, to)` inside of `within` and outside of `without`; neither overlaps itself.
fn common((from, to): Stretch, within: &[Stretch], without: &[Stretch]) -> i64 {
    let cut = |(a, b): Stretch| (a.max(from), b.min(to));
    let inside: i64 = within.iter().map(|s| millis(cut(*s))).sum();
    let outside = |s: &Stretch| -> i64 {
        let (a, b) = cut(*s);
        within.iter().map(|(c, d)| millis((a.max(*c), b.min(*d)))).sum()
    };
    inside - without.iter().map(outside).sum::<i64>()
}

/// A run that its renter was told of, and what of it can be charged.
struct Usable {
    run: Run,
    per_ms: i64,
    /// At most, whatever the agents say.
    most: i64,
    /// Exactly, when everything that can be proven was heard.
    exactly: i64,
}

impl World {
    async fn usable(&self) -> Result<Vec<Usable>, Broken> {
        let mut db = self.store.read().await?;
        let events = store::events::after(&mut db, &Audience::Operator, None, 0, 1_000_000).await?;
        let unnumbered = store::events::any_unsequenced(&mut db).await?;
        // The numbers are no witness: two servers may write in one millisecond.
        let written = store::testing::written(&mut db).await?;
        let places: BTreeMap<_, _> = written.iter().zip(0..).collect();
        drop(db);
        // Who has not been numbered yet may still be a stop: then the truth is for later.
        if unnumbered {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for (node, machine) in self.machines.iter().enumerate() {
            let machine = lock(machine);
            for run in machine.runs() {
                let Some((_, per_ms)) = self.rented.iter().find(|(id, _)| *id == run.id) else { continue };
                let told = |e: &&Event| {
                    e.kind == "state-changed"
                        && e.subject == run.id.as_str()
                        && e.data["to"] == "running"
                        && e.data["generation"] == run.generation
                };
                // A run that nobody was told of is nobody's to pay.
                let Some(told) = events.iter().find(told) else { continue };
                let accepted = |e: &&Event| {
                    e.subject == run.id.as_str() && (e.kind == "stop-accepted" || e.kind == "release-accepted")
                };
                let after = |e: &&Event| places.get(&e.id) > places.get(&told.id);
                let accepted = events.iter().filter(accepted).filter(after).min_by_key(|e| places.get(&e.id));
                let wished = accepted.map_or(self.now(), |e| e.at);
                let covered = machine.covered();
                let gone = run.gone.unwrap_or(END);
                let most = common((run.ready, wished.min(gone)), covered, &[]);
                let died = run.died.unwrap_or(END);
                let exactly = common((run.ready, wished.min(died).min(gone)), covered, &self.late[node]);
                found.push(Usable { run: run.clone(), per_ms: *per_ms, most, exactly });
            }
        }
        Ok(found)
    }

    /// What is charged of each run, open stretches up to now.
    async fn charged(&self) -> Result<BTreeMap<(InstanceId, i64), (Money, bool)>, Broken> {
        let mut db = self.store.read().await?;
        let mut all: BTreeMap<_, (Money, bool)> = BTreeMap::new();
        for (id, _) in &self.rented {
            for s in segments::of_instance(&mut db, id).await? {
                let node = self.nodes.iter().position(|n| *n == s.node).unwrap_or(0);
                let proven = self.proven[node].max(s.from);
                let open = billing::segment::charge_until(s.from, s.rate, proven)?;
                let charge = if s.to.is_none() { open } else { s.posted };
                let entry = all.entry((id.clone(), s.generation)).or_default();
                entry.0 = entry.0.plus(charge)?;
                entry.1 |= s.closed_by.as_deref() == Some("never-proven");
            }
        }
        Ok(all)
    }

    /// Nothing is charged that a renter could not use, or after he stopped.
    pub async fn charged_at_most(&self) -> Result<(), Broken> {
        let usable = self.usable().await?;
        let charged = self.charged().await?;
        for u in &usable {
            let (paid, _) = charged.get(&(u.run.id.clone(), u.run.generation)).copied().unwrap_or_default();
            if paid.micros() > u.per_ms * u.most {
                return Err(Broken::new(
                    "nothing is charged that could not be used",
                    format!("{:?} pays {paid}, could be used for {} ms at {}/ms", u.run, u.most, u.per_ms),
                ));
            }
        }
        Ok(())
    }

    /// What was used and proven in time is charged, to the micro-unit.
    pub async fn charged_exactly(&self) -> Result<(), Broken> {
        let usable = self.usable().await?;
        let charged = self.charged().await?;
        for (key, (paid, _)) in &charged {
            let known = usable.iter().any(|u| (&u.run.id, u.run.generation) == (&key.0, key.1));
            if paid.is_positive() && !known {
                return Err(Broken::new("only what ran is charged", format!("{key:?} pays {paid}")));
            }
        }
        for u in &usable {
            let key = (u.run.id.clone(), u.run.generation);
            let (paid, given_up) = charged.get(&key).copied().unwrap_or_default();
            // Where clocks were wrong, or evidence came at the very end of its day, the renter is favoured.
            let lenient = given_up || self.machines.iter().any(|m| lock(m).was_wrong());
            if !lenient && paid.micros() != u.per_ms * u.exactly {
                return Err(Broken::new(
                    "what was used and proven is charged exactly",
                    format!("{:?} pays {paid}, was usable for {} ms at {}/ms", u.run, u.exactly, u.per_ms),
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_time_is_counted_once() {
        let at = |ms: i64| Timestamp::from_micros(ms * 1_000);
        let within = [(at(0), at(10)), (at(20), at(30))];
        assert_eq!(common((at(5), at(25)), &within, &[]), 10);
        assert_eq!(common((at(5), at(25)), &within, &[(at(8), at(22))]), 6);
        assert_eq!(common((at(11), at(19)), &within, &[]), 0);
    }
}
