//! Two servers on one database: whichever freezes is replaced, and does no harm
//! when it goes on; both tell the same events.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]

use std::collections::BTreeSet;

use e2e::{
    Database, Folder, Follower, Job, Person, Second, Site, Wanted, assert_bill_is_right, charge, eventually, micros,
    points, soon, stretch, text,
};

/// No point is passed over by the same server so often when two share the work.
const TRIES: usize = 20;

/// A site on PostgreSQL with two servers and a renter who uses both.
struct Pair {
    second: Second,
    /// The renter at the first server.
    first: Person,
    /// The same at the second.
    other: Person,
    operator: Person,
    names: usize,
    site: Site,
    // Dropped after those who use it.
    _database: Database,
}

impl Pair {
    fn start() -> Self {
        let folder = Folder::new();
        let database = Database::new(&folder);
        let site = Site::in_folder(folder, Wanted { database: Some(database.url()), ..Wanted::default() });
        let first = site.renter("alpha", "100");
        let second = site.second();
        let (other, operator) = (second.for_person(&first), second.for_person(&site.operator));
        Self { second, first, other, operator, names: 0, site, _database: database }
    }

    /// Begins a rental that stops itself, asked for at the first server while that is awake.
    fn begin(&mut self) -> (String, Option<Job>) {
        self.names += 1;
        let name = format!("r{}", self.names);
        let wish = ["rent", "--gpu", "T4", "--disk", "1", "--stop-idle", "off", "--stop-after", "1s", "--name", &name];
        if self.site.server_froze() {
            self.other.ok(&wish);
            return (name, None);
        }
        let job = self.first.start(&wish);
        (name, Some(job))
    }

    /// A whole rental, seen through the second server, whatever happens to the first.
    fn live(&mut self) {
        let (name, mut job) = self.begin();
        let mut id = None;
        eventually("it is listed", || {
            id = self.other.listed(&name).flatten();
            if id.is_none() && job.as_mut().is_some_and(|job| !job.runs()) && !self.site.server_froze() {
                job.take().unwrap().finish().ok();
            }
            id.is_some() || self.site.server_froze()
        });
        let Some(id) = id.or_else(|| self.other.listed(&name).flatten()) else {
            // It froze before it took the wish; whatever becomes of that is looked at in the end.
            return drop(job);
        };
        eventually("it stops by its timer", || self.other.state(&id) == "stopped");
        if self.site.server_froze() {
            self.other.ok(&["release", &id, "--yes"]);
        } else {
            let asked = self.first.start(&["release", &id, "--yes"]);
            eventually("the release is accepted", || {
                ["releasing", "released"].contains(&self.other.state(&id).as_str()) || self.site.server_froze()
            });
            if self.site.server_froze() {
                // Asked twice at worst.
                self.other.run(&["release", &id, "--yes"]);
            } else {
                asked.finish().ok();
            }
        }
        eventually("it is released", || self.other.state(&id) == "released");
    }

    fn everything(&self) -> Vec<String> {
        let list = self.other.json(&["ls", "--all"]);
        list["items"].as_array().unwrap().iter().map(|i| text(&i["id"])).collect()
    }

    /// What the bill says once everything is posted that the events tell.
    fn posted(&self) -> i64 {
        let ran: Vec<_> = self.everything().iter().map(|id| stretch(&self.other, id)).collect();
        let own: i64 = ran.iter().map(|(rate, from, to)| charge(*rate, *from, *to)).sum();
        soon("everything is posted", || Some(micros(&self.other.json(&["bill"])["posted"])).filter(|all| *all >= own))
    }
}

/// The first server freezes at each of these points; the second goes on with its
/// work; then it wakes.
fn frozen_at(points: &[&str]) {
    let mut pair = Pair::start();
    for point in points {
        pair.site.restart_to_freeze(point);
        for n in 0.. {
            assert!(n < TRIES, "{point} is never reached by the first server");
            pair.live();
            if pair.site.server_froze() {
                break;
            }
        }
        // Whoever asks now asks the second, and what the first one held is done.
        pair.live();
        let free = pair.operator.json(&["offers", "--gpu", "T4"]);
        assert_eq!(free["offers"][0]["free"], 1, "{point}: the card is back in stock");
        let (bill, events) = (pair.posted(), ready_and_stopped(&pair.other, &pair.everything()));

        pair.site.wake_server();
        eventually("it answers again", || pair.first.run(&["whoami"]).code == 0);
        // A wish that it had taken and not answered may be carried out now.
        for id in pair.everything() {
            eventually("everything is at rest", || {
                ["stopped", "failed", "released"].contains(&pair.other.state(&id).as_str())
            });
            if pair.other.state(&id) != "released" {
                pair.other.ok(&["release", &id, "--yes", "--wait"]);
            }
        }
        if ready_and_stopped(&pair.other, &pair.everything()) == events {
            assert_eq!(pair.posted(), bill, "{point}: the bill is as it was");
        }
        pair.live();
        pair.site.assert_nothing_left();
        let ran: Vec<_> = pair.everything();
        let stretches: Vec<_> = ran.iter().map(|id| stretch(&pair.first, id)).collect();
        assert_bill_is_right(&pair.site, &pair.first, 100_000_000, &stretches);
    }
}

/// How often each instance became ready and its stop was accepted.
fn ready_and_stopped(renter: &Person, ids: &[String]) -> Vec<(usize, usize)> {
    ids.iter().map(|id| (renter.events(id, "ready").len(), renter.events(id, "stop-accepted").len())).collect()
}

const COMING: [&str; 6] = [
    "instance.requested.before-allocation",
    "instance.requested.after-allocation",
    "instance.creating.before-engine",
    "instance.creating.after-engine",
    "instance.starting.before-engine",
    "instance.starting.after-engine",
];

const GOING: [&str; 5] = [
    "instance.running.before-rule-stop",
    "instance.stopping.before-engine",
    "instance.stopping.after-engine",
    "instance.releasing.before-engine",
    "instance.releasing.after-engine",
];

const COUNTING: [&str; 6] = [
    "segment.settle.before",
    "segment.settle.after",
    "account.guard.before",
    "account.guard.after",
    "node.evidence.before",
    "node.evidence.after",
];

#[test]
fn every_point_of_the_server_has_a_case() {
    // An agent that stands still is a machine out of touch, which is tested elsewhere.
    let all: BTreeSet<_> = points().into_iter().filter(|point| !point.starts_with("agent.")).collect();
    let tried: BTreeSet<_> = [&COMING[..], &GOING, &COUNTING].concat().into_iter().map(str::to_owned).collect();
    assert_eq!(all, tried, "a new point needs a place in one of the lists above");
}

#[test]
fn a_server_that_freezes_while_an_instance_comes_is_replaced_and_does_no_harm() {
    frozen_at(&COMING);
}

#[test]
fn a_server_that_freezes_while_an_instance_goes_is_replaced_and_does_no_harm() {
    frozen_at(&GOING);
}

#[test]
fn a_server_that_freezes_while_it_counts_is_replaced_and_does_no_harm() {
    frozen_at(&COUNTING);
}

#[test]
fn readers_of_both_servers_see_every_event_once_and_in_order() {
    let mut pair = Pair::start();
    let readers = [(&pair.site.operator, &pair.site.url), (&pair.operator, &pair.second.url)];
    let readers = readers.map(|(person, url)| Follower::of(person, url));
    for round in 0..3 {
        pair.live();
        // Each in turn sleeps through a whole rental.
        match round {
            0 => {
                pair.site.freeze_server();
                pair.live();
                pair.site.wake_server();
            }
            1 => {
                pair.second.freeze();
                let id = pair.first.rent("T4", &["--stop-idle", "off"]);
                pair.first.ok(&["release", &id, "--yes", "--wait"]);
                pair.second.wake();
            }
            _ => {}
        }
    }
    let ids = pair.everything();
    assert!(ids.len() >= 5, "{ids:?}");
    let all = Follower::of(&pair.operator, &pair.second.url);
    eventually("every reader has seen every event", || {
        let last = all.seen();
        last.len() > ids.len() * 5 && readers.iter().all(|reader| reader.seen() == last)
    });
    let seen = all.seen();
    assert_eq!(seen, (1..=i64::try_from(seen.len()).unwrap()).collect::<Vec<_>>(), "no gap, nothing twice");
    pair.site.audit();
}
