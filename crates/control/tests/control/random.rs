//! Anything in any order: afterwards the books are right to the micro-unit.
//!
//! The model knows no segments, postings, leases or states. It counts the
//! milliseconds in which a renter could use what he had, from what the machines
//! really did, from the wishes that were accepted, and from the times at which
//! nobody watched or word came more than a day late.

use base::{Cause, Error, InstanceId, Money, Rate, Span, Timestamp};
use control::testing::{Call, Trouble};
use control::{Clock, worker};
use domain::instance::State;
use futures_util::FutureExt;
use proptest::prelude::*;
use store::lease::Kind;

use crate::world::{Want, World, money, want};

/// One thing that happens.
#[derive(Clone, Debug)]
enum Op {
    Wish(Wish),
    TopUp(i64),
    Advance(i64),
    /// The agent is out of touch for so many seconds; wishes come halfway.
    OutOfTouch(i64, Vec<Wish>),
    /// Nobody watches for so many seconds; wishes come halfway.
    Dark(i64, bool, Vec<Wish>),
    /// The next call of this kind is done, but its answer is lost.
    LoseAnswer(usize),
    Refuse(usize, Cause),
    /// The server dies after so many polls of whatever it was doing.
    Crash(u32),
}

#[derive(Clone, Debug)]
enum Wish {
    /// Rate in micro-units a millisecond, cards, and whether its steps are taken at once.
    Rent(i64, i64, bool),
    Stop(usize),
    Start(usize),
    Release(usize),
    Kill(usize),
}

const CALLS: [Call; 4] = [Call::Create, Call::Start, Call::Stop, Call::Delete];

fn wish() -> impl Strategy<Value = Wish> {
    prop_oneof![
        3 => (1..9i64, 1..3i64, any::<bool>()).prop_map(|(rate, cards, now)| Wish::Rent(rate, cards, now)),
        3 => (0..8usize).prop_map(Wish::Stop),
        3 => (0..8usize).prop_map(Wish::Start),
        1 => (0..8usize).prop_map(Wish::Release),
        2 => (0..8usize).prop_map(Wish::Kill),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let some = || proptest::collection::vec(wish(), 0..3);
    let outage = || prop_oneof![1..150i64, 3_600..30 * 3_600i64];
    prop_oneof![
        8 => wish().prop_map(Op::Wish),
        1 => (1..200i64).prop_map(Op::TopUp),
        4 => prop_oneof![1..200i64, 600..20_000i64].prop_map(Op::Advance),
        2 => (outage(), some()).prop_map(|(secs, wishes)| Op::OutOfTouch(secs, wishes)),
        2 => (outage(), any::<bool>(), some()).prop_map(|(secs, reboot, wishes)| Op::Dark(secs, reboot, wishes)),
        2 => (0..4usize).prop_map(Op::LoseAnswer),
        1 => (0..2usize, prop_oneof![Just(Cause::DiskFull), Just(Cause::EngineFailed)])
            .prop_map(|(call, cause)| Op::Refuse(call, cause)),
        2 => (1..12u32).prop_map(Op::Crash),
    ]
}

struct Story {
    w: World,
    rented: Vec<(InstanceId, i64)>,
    /// Accepted stops and releases.
    ended: Vec<(InstanceId, Timestamp)>,
    /// Stretches that can never be billed.
    unbilled: Vec<(Timestamp, Timestamp)>,
}

impl Story {
    fn pick(&self, n: usize) -> Option<InstanceId> {
        let len = self.rented.len();
        (len > 0).then(|| self.rented[n % len].0.clone())
    }

    async fn wish(&mut self, wish: &Wish) {
        match wish {
            Wish::Rent(per_ms, count, now) => {
                let rate = Rate::from_micros_per_hour(per_ms * 3_600_000);
                let want = Want { rate, count: *count, ..want("0") };
                // Not enough money is an answer like any other.
                if let Ok(id) = self.w.try_rent(&want).await {
                    self.rented.push((id, *per_ms));
                    if *now {
                        self.w.settle().await;
                    }
                }
            }
            Wish::Stop(n) => {
                if let Some(id) = self.pick(*n)
                    && self.w.try_stop(&id).await.is_ok()
                {
                    self.ended.push((id, self.w.now()));
                }
            }
            Wish::Start(n) => {
                if let Some(id) = self.pick(*n) {
                    let _ = self.w.try_start(&id).await;
                }
            }
            Wish::Release(n) => {
                if let Some(id) = self.pick(*n)
                    && self.w.try_release(&id).await.is_ok()
                {
                    self.ended.push((id, self.w.now()));
                }
            }
            Wish::Kill(n) => {
                if let Some(id) = self.pick(*n) {
                    self.w.engine().kill(&id);
                }
            }
        }
    }

    /// Short times are lived through; through long ones the server sleeps.
    async fn pass(&mut self, secs: i64, wishes: &[Wish]) {
        for half in [secs / 2, secs - secs / 2] {
            if secs <= 150 {
                self.w.run_for(Span::from_secs(half)).await;
            } else {
                self.w.clock.advance(Span::from_secs(half));
                self.w.settle().await;
            }
            if half == secs / 2 {
                for wish in wishes {
                    self.wish(wish).await;
                }
            }
        }
    }

    async fn crash(&mut self, polls: u32) {
        for kind in Kind::ALL {
            for lease in worker::claim(&self.w.control, kind, 64).await.unwrap() {
                let mut step = Box::pin(worker::step(&self.w.control, kind, &lease));
                for _ in 0..polls {
                    if (&mut step).now_or_never().is_some() {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    async fn run(&mut self, op: &Op) {
        match op {
            Op::Wish(wish) => self.wish(wish).await,
            Op::TopUp(amount) => self.w.top_up(Money::from_micros(amount * 1_000_000)).await,
            Op::Advance(secs) => self.w.run_for(Span::from_secs(*secs)).await,
            Op::OutOfTouch(secs, wishes) => {
                self.w.hear().await;
                let from = self.w.now();
                self.w.engine().set_reachable(false);
                self.pass(*secs, wishes).await;
                let late = self.w.now().before(Span::from_hours(24));
                self.unbilled.push((from, late.max(from)));
                self.w.engine().set_reachable(true);
                self.w.catch_up().await;
            }
            Op::Dark(secs, reboot, wishes) => {
                self.w.hear().await;
                let from = self.w.now();
                self.w.engine().go_dark();
                self.pass(*secs, wishes).await;
                self.unbilled.push((from, self.w.now()));
                self.w.engine().wake(*reboot);
                self.w.catch_up().await;
            }
            Op::LoseAnswer(call) => self.w.engine().trouble(CALLS[*call], Trouble::LoseAnswer),
            Op::Refuse(call, cause) => {
                let error = Error::new(*cause, "the machine cannot do it");
                self.w.engine().trouble(CALLS[*call], Trouble::Refuse(error));
            }
            Op::Crash(polls) => self.crash(*polls).await,
        }
        self.w.check().await;
    }

    /// What everything together may cost, without looking at segments or postings.
    async fn model(&self) -> Money {
        let events = self.w.events().await;
        let by_money = events.iter().filter(|e| e.kind == "stop-accepted" && e.data["cause"] == "money-ended");
        let mut ended = self.ended.clone();
        ended.extend(by_money.map(|e| (e.subject.parse().unwrap(), e.at)));
        let mut total = 0;
        for run in self.w.engine().runs() {
            let told = |e: &&store::events::Event| {
                e.kind == "ready" && e.subject == run.id.as_str() && e.data["ready_at"] == run.ready_at.to_string()
            };
            // A run that nobody was told of is nobody's to pay.
            if events.iter().find(told).is_none() {
                continue;
            }
            let wished = ended.iter().filter(|(id, at)| *id == run.id && *at >= run.ready_at).map(|(_, at)| *at);
            let end = wished.chain(run.ended_at).min().unwrap_or(self.w.clock.now());
            let per_ms = self.rented.iter().find(|(id, _)| *id == run.id).unwrap().1;
            let billed = billable_ms(run.ready_at, end, &self.unbilled);
            total += per_ms * billed;
        }
        Money::from_micros(total)
    }
}

/// Milliseconds of `[from, to)` outside all of `without`, which do not overlap.
fn billable_ms(from: Timestamp, to: Timestamp, without: &[(Timestamp, Timestamp)]) -> i64 {
    let length = |a: Timestamp, b: Timestamp| (b.micros() - a.micros()).max(0) / 1_000;
    let lost: i64 = without.iter().map(|(a, b)| length((*a).max(from), (*b).min(to))).sum();
    length(from, to) - lost
}

async fn story(ops: &[Op]) {
    let w = World::with_money(&[3], "300").await;
    let mut story = Story { w, rented: vec![], ended: vec![], unbilled: vec![] };
    for op in ops {
        story.run(op).await;
    }
    // What was begun comes to an end by itself.
    story.w.run_for(Span::from_secs(600)).await;
    story.w.check_at_peace().await;
    for (id, _) in story.rented.clone() {
        if story.w.try_release(&id).await.is_ok() {
            story.ended.push((id, story.w.now()));
        }
    }
    story.w.run_for(Span::from_secs(600)).await;
    story.w.check_at_peace().await;
    for (id, _) in &story.rented {
        assert_eq!(story.w.state(id).await, State::Released);
        assert!(story.w.segments(id).await.iter().all(|s| s.to.is_some() && s.due_at.is_none()));
    }
    assert_eq!((story.w.held_cards().await, story.w.account().await.held), (0, money("0")));
    assert!(story.w.engine().truth().is_empty(), "something is orphaned");
    assert_eq!(story.w.charged().await, story.model().await);
}

proptest! {
    #![proptest_config(ProptestConfig {
        // A longer hunt: PROPTEST_CASES=2000.
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(32),
        failure_persistence: None,
        max_shrink_iters: 300,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_happens_the_books_are_right(ops in proptest::collection::vec(op(), 1..30)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(story(&ops));
    }
}
