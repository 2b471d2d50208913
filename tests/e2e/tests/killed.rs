//! Killed anywhere: server and agent die at every fault point that the source
//! names, one after the other, in the middle of a whole rental. Afterwards nothing
//! is orphaned, nothing doubled, and the bill is what the events say.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]

use std::collections::BTreeSet;

use e2e::{Person, Site, assert_bill_is_right, eventually, micros, points, soon, stretch, text};

/// Who dies when the point is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dies {
    Server,
    ServerThenAgent,
    Agent,
}

/// One whole rental on a site that is armed: it is rented, stops by its timer and
/// is released; whoever dies on the way is started again.
struct Rental<'s> {
    site: &'s Site,
    renter: &'s Person,
    name: String,
    dies: Dies,
    struck: bool,
}

impl Rental<'_> {
    /// Sees whether the point was reached; then brings everything up again.
    fn strike(&mut self) -> bool {
        let gone = match self.dies {
            Dies::Server | Dies::ServerThenAgent => self.site.server_died(),
            Dies::Agent => self.site.agents().is_empty(),
        };
        if !gone {
            return false;
        }
        match self.dies {
            Dies::Server => self.site.bury_server(),
            Dies::ServerThenAgent => {
                self.site.bury_server();
                self.site.kill_agent();
            }
            // Nobody but a new start of the server brings its agent back.
            Dies::Agent => drop(self.site.end()),
        }
        self.site.restart();
        self.struck = true;
        true
    }

    /// Waits until `done`, over the death on the way.
    fn until(&mut self, what: &str, mut done: impl FnMut(&Person) -> bool) {
        eventually(what, || {
            if !self.struck && self.strike() {
                return false;
            }
            done(self.renter)
        });
    }

    fn rent(&mut self) -> String {
        let name = self.name.clone();
        let wish = ["rent", "--gpu", "T4", "--disk", "1", "--stop-idle", "off", "--stop-after", "1s", "--name", &name];
        self.renter.run(&wish);
        let mut found = None;
        self.until("it is listed", |renter| {
            found = renter.listed(&name).and_then(|id| {
                // Who died before the wish was written has left nothing of it.
                id.or_else(|| renter.run(&wish).out.lines().next().map(str::to_owned))
            });
            found.is_some()
        });
        found.expect("a rented instance")
    }

    fn state(renter: &Person, id: &str) -> String {
        let shown = renter.run(&["--json", "show", id]);
        if shown.code == 0 { text(&shown.json()["state"]) } else { String::new() }
    }

    fn live(&mut self) -> String {
        let id = self.rent();
        self.until("it stops by its timer", |renter| Self::state(renter, &id) == "stopped");
        self.until("the release is accepted", |renter| {
            let asked = renter.run(&["release", &id, "--yes"]);
            asked.code == 0 || Self::state(renter, &id) == "released"
        });
        self.until("it is released", |renter| Self::state(renter, &id) == "released");
        id
    }
}

/// All points of one kind on one site, each with its own rental; at the end the
/// bill holds exactly one stretch for each.
fn killed_at(points: &[String], dies: Dies) {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let mut stretches = Vec::new();
    for (n, point) in points.iter().enumerate() {
        site.restart_armed(point);
        let mut rental = Rental { site: &site, renter: &renter, name: format!("r{n}"), dies, struck: false };
        let id = rental.live();
        if !rental.struck {
            // What comes after the last visible state may still be on its way.
            eventually(&format!("{point} is reached"), || rental.strike());
        }
        assert_eq!(site.free("T4"), 1, "{point}: the card is back in stock");
        soon(&format!("{point}: the bill is right"), || (micros(&renter.json(&["bill"])["so_far"]) == 0).then_some(()));
        site.assert_nothing_left();
        stretches.push(stretch(&renter, &id));
        assert_bill_is_right(&site, &renter, 100_000_000, &stretches);
    }
}

fn of(kinds: &[&str]) -> Vec<String> {
    points().into_iter().filter(|p| kinds.iter().any(|kind| p.starts_with(kind))).collect()
}

#[test]
fn every_point_has_a_case() {
    let all = points();
    assert!(all.len() >= 25, "the source names its fault points: {all:?}");
    let kinds = [&COMING[..], &THERE, &GOING, &COUNTING, &["agent."]].concat();
    let covered: BTreeSet<_> = of(&kinds).into_iter().collect();
    assert_eq!(all, covered, "a point of a new kind needs a test below");
}

const COMING: [&str; 2] = ["instance.requested", "instance.creating"];
const THERE: [&str; 2] = ["instance.starting", "instance.running"];
const GOING: [&str; 2] = ["instance.stopping", "instance.releasing"];
const COUNTING: [&str; 3] = ["segment.", "account.", "node."];

#[test]
fn the_server_is_killed_while_an_instance_is_made() {
    killed_at(&of(&COMING), Dies::Server);
}

#[test]
fn the_server_is_killed_while_an_instance_starts_or_runs() {
    killed_at(&of(&THERE), Dies::Server);
}

#[test]
fn the_server_is_killed_while_an_instance_ends() {
    killed_at(&of(&GOING), Dies::Server);
}

#[test]
fn the_server_is_killed_while_it_counts() {
    killed_at(&of(&COUNTING), Dies::Server);
}

#[test]
fn server_and_agent_are_killed_while_an_instance_is_made() {
    killed_at(&of(&COMING), Dies::ServerThenAgent);
}

#[test]
fn server_and_agent_are_killed_while_an_instance_starts_or_runs() {
    killed_at(&of(&THERE), Dies::ServerThenAgent);
}

#[test]
fn server_and_agent_are_killed_while_an_instance_ends() {
    killed_at(&of(&GOING), Dies::ServerThenAgent);
}

#[test]
fn server_and_agent_are_killed_while_they_count() {
    killed_at(&of(&COUNTING), Dies::ServerThenAgent);
}

#[test]
fn the_agent_is_killed_in_the_middle_of_every_order() {
    killed_at(&of(&["agent."]), Dies::Agent);
}
