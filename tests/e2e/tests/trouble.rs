//! Trouble: races, crashes, full disks and machines out of touch. Whatever
//! happens, nothing is lost, doubled or billed wrongly.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]

use e2e::{
    Person, Site, Traces, Wanted, alive, assert_bill_is_right, at, eventually, eventually_within, micros, pids_with,
    soon, text,
};
use rustix::process::{Pid, Signal, kill_process};

/// The stretch of one run from its proof to `to`.
fn since_ready(renter: &Person, id: &str, to: i64) -> (i64, i64, i64) {
    let ready = renter.events(id, "ready");
    let from = at(&ready.last().expect("a ready event")["data"]["ready_at"]).micros();
    (micros(&renter.show(id)["rate"]), from, to)
}

fn instant(events: &[serde_json::Value]) -> i64 {
    at(&events.last().expect("an event")["at"]).micros()
}

/// Begins a program that counts for as long as it lives; what it was given shows
/// whether it is still the same one.
fn begin_counting(renter: &Person, id: &str) {
    let line = "(n=0; while :; do n=$((n+1)); echo $n > ~/.new; mv ~/.new ~/count; sleep 0.1; done) >/dev/null 2>&1 & echo $! > ~/counter";
    renter.inside(id, line);
    eventually("it counts", || !renter.inside(id, "cat ~/count 2>/dev/null; echo").is_empty());
}

/// Waits until the same program counts on.
fn assert_counts_on(renter: &Person, id: &str) {
    let count = || renter.inside(id, "kill -0 $(cat ~/counter) && cat ~/count").parse::<u64>().unwrap_or(0);
    let now = count();
    assert!(now > 0, "the program is gone");
    eventually("the program goes on", || count() > now);
}

/// Stops and releases, and checks that all of the time was billed as one stretch.
fn assert_one_stretch(site: &Site, renter: &Person, id: &str) {
    renter.ok(&["stop", id, "--wait"]);
    let to = instant(&renter.events(id, "stop-accepted"));
    assert_eq!(renter.events(id, "ready").len(), 1, "it was never started anew");
    assert_bill_is_right(site, renter, 100_000_000, &[since_ready(renter, id, to)]);
    renter.ok(&["release", id, "--yes", "--wait"]);
    site.assert_nothing_left();
}

#[test]
fn of_two_who_want_the_last_card_one_gets_it_and_one_is_told_why() {
    let site = Site::start();
    let renters = ["alpha", "beta"].map(|name| site.renter(name, "100"));
    for round in 0..3 {
        let wish = ["--json", "rent", "--gpu", "T4", "--disk", "1", "--wait"];
        let both: Vec<_> = renters.iter().map(|renter| renter.start(&wish)).collect();
        let ended: Vec<_> = both.into_iter().map(e2e::Job::finish).collect();
        let mut codes: Vec<_> = ended.iter().map(|ran| ran.code).collect();
        codes.sort_unstable();
        assert_eq!(codes, [0, 3], "round {round}: {ended:?}");
        let winner = ended.iter().position(|ran| ran.code == 0).unwrap();
        let cause = ended[1 - winner].cause();
        assert!(["no-capacity", "lost-race"].contains(&cause.as_str()), "{ended:?}");
        let id = text(&ended[winner].json()["id"]);
        assert_eq!(renters[winner].inside(&id, "echo mine"), "mine");
        assert_eq!(micros(&renters[1 - winner].json(&["balance"])["held"]), 0, "the loser's money is free");
        renters[winner].ok(&["release", &id, "--yes", "--wait"]);
        // What lost after it was accepted is kept as failed, for its owner to read.
        let list = renters[1 - winner].json(&["ls"]).to_string();
        if list.contains("ins-") {
            let id = &list[list.find("ins-").unwrap()..][..30];
            assert_eq!(renters[1 - winner].state(id), "failed");
            renters[1 - winner].ok(&["release", id, "--yes", "--wait"]);
        }
        site.assert_nothing_left();
    }
    site.audit();
}

#[test]
fn an_instance_whose_first_process_is_killed_is_lost_and_billed_no_further() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let id = renter.rent("T4", &["--stop-idle", "off"]);
    renter.inside(&id, "echo kept > /workspace/note; sleep 7343 >/dev/null 2>&1 & echo");
    let pid = site.first_process(&id);
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let view = renter.wait_for(&id, "lost");
    assert_eq!(view["reason"]["code"], "init-died", "{view}");
    let lost = renter.events(&id, "lost");
    let to = at(&lost[0]["data"]["at"]).micros();
    // The death is noticed from the kernel, not at some later look.
    assert!(instant(&lost) >= to);
    let first = since_ready(&renter, &id, to);
    assert_bill_is_right(&site, &renter, 100_000_000, &[first]);
    assert_eq!(pids_with(&["sleep", "7343"]), Vec::<i32>::new(), "its programs ended with it");
    assert_eq!(Traces::of(&site.slugs(), site.users()), Traces::default());
    assert_eq!(site.free("T4"), 1, "its card is free");
    assert!(renter.ok(&["why", &id]).contains("first process"));

    renter.ok(&["start", &id, "--wait"]);
    assert_eq!(renter.inside(&id, "cat /workspace/note"), "kept");
    renter.ok(&["release", &id, "--yes", "--wait"]);
    let second = since_ready(&renter, &id, instant(&renter.events(&id, "release-accepted")));
    assert_bill_is_right(&site, &renter, 100_000_000, &[first, second]);
    site.assert_nothing_left();
}

#[test]
fn a_killed_server_takes_nothing_with_it() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let id = renter.rent("T4", &["--stop-idle", "off"]);
    let slug = text(&renter.show(&id)["slug"]);
    begin_counting(&renter, &id);
    let (init, agent) = (site.first_process(&id), site.agent());
    site.kill_server();
    assert!(alive(init) && alive(agent));
    site.restart();
    let view = renter.show(&id);
    assert_eq!((text(&view["state"]), text(&view["slug"])), ("running".into(), slug));
    assert_eq!((site.first_process(&id), site.agent()), (init, agent));
    assert_counts_on(&renter, &id);
    assert_one_stretch(&site, &renter, &id);
}

#[test]
fn a_killed_agent_comes_back_with_the_server_and_finds_everything() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let id = renter.rent("T4", &["--stop-idle", "off"]);
    begin_counting(&renter, &id);
    let init = site.first_process(&id);
    site.kill_agent();
    assert!(alive(init));
    let cut = renter.run(&["exec", &id, "--", "true"]);
    assert_eq!(cut.code, 6, "without the agent nobody gets in: {cut:?}");
    assert_eq!(renter.state(&id), "running", "what still runs is not lost");
    assert_eq!(site.end().code, 0);
    site.restart();
    assert_eq!(site.first_process(&id), init);
    eventually("somebody gets in again", || renter.run(&["exec", &id, "--", "true"]).code == 0);
    assert_counts_on(&renter, &id);
    assert_one_stretch(&site, &renter, &id);
}

#[test]
fn server_and_agent_killed_together_come_back_to_the_same_instances() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let id = renter.rent("T4", &["--stop-idle", "off"]);
    begin_counting(&renter, &id);
    let init = site.first_process(&id);
    site.kill_server();
    site.kill_agent();
    assert!(alive(init));
    site.restart();
    assert_eq!((site.first_process(&id), renter.state(&id)), (init, "running".into()));
    assert_counts_on(&renter, &id);
    assert_one_stretch(&site, &renter, &id);
}

#[test]
fn what_dies_while_nobody_watches_is_billed_to_its_end_at_most() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let id = renter.rent("T4", &["--stop-idle", "off"]);
    let init = site.first_process(&id);
    // The agent writes its proofs down every second; so much is certainly written.
    soon("two seconds of it are proven", || (micros(&renter.show(&id)["cost_so_far"]) > 444).then_some(()));
    site.kill_server();
    site.kill_agent();
    let before_death = now();
    kill_process(Pid::from_raw(init).unwrap(), Signal::KILL).unwrap();
    eventually("it is dead", || !alive(init));
    site.restart();
    renter.wait_for(&id, "lost");
    let lost = renter.events(&id, "lost");
    let to = at(&lost[0]["data"]["at"]).micros();
    assert!(to <= before_death, "billed {} µs beyond its death", to - before_death);
    let stretch = since_ready(&renter, &id, to);
    assert!(stretch.2 > stretch.1, "what was proven is billed: {stretch:?}");
    assert_bill_is_right(&site, &renter, 100_000_000, &[stretch]);
    renter.ok(&["release", &id, "--yes", "--wait"]);
    site.assert_nothing_left();
}

#[test]
fn an_orderly_end_leaves_instances_running_and_the_next_start_takes_them_up() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let id = renter.rent("T4", &["--stop-idle", "off"]);
    begin_counting(&renter, &id);
    let session = renter.start(&["exec", &id, "--", "sh", "-c", "echo in; sleep 1000"]);
    eventually("the session is open", || session.out() == "in\n");
    let (init, agent) = (site.first_process(&id), site.agent());
    let ended = site.end();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_ne!(session.finish().code, 0, "a session that was cut off is no success");
    eventually("the agent ended with its server", || !alive(agent));
    assert!(alive(init), "the instance goes on");
    assert!(!site.data().join("agent.sock").exists());
    site.restart();
    assert_eq!((site.first_process(&id), renter.state(&id)), (init, "running".into()));
    assert_counts_on(&renter, &id);
    assert_one_stretch(&site, &renter, &id);
    let agent = site.agent();
    assert_eq!(site.end().code, 0);
    eventually("the second agent ended too", || !alive(agent));
}

#[test]
fn a_server_that_found_an_agent_of_a_crashed_one_ends_it_too() {
    let site = Site::start();
    let agent = site.agent();
    site.kill_server();
    site.restart();
    assert_eq!(site.agent(), agent);
    assert_eq!(site.end().code, 0);
    eventually_within(10, "the agent ended with the server", || !alive(agent));
}

#[test]
fn a_full_disk_fails_the_instance_and_costs_nothing() {
    let site = Site::with(Wanted { disk: Some(96), ..Wanted::default() });
    let renter = site.renter("alpha", "100");
    let filler = site.state().join("filler");
    // Written, not only promised: a tmpfs counts what is there.
    fill(std::fs::File::create(&filler).unwrap(), 88);
    let ran = renter.run(&["--json", "rent", "--gpu", "T4", "--disk", "1", "--wait"]);
    assert_eq!((ran.code, ran.cause().as_str()), (3, "disk-full"), "{ran:?}");
    let list = renter.json(&["ls"]);
    let id = text(&list["items"][0]["id"]);
    let view = renter.show(&id);
    assert_eq!((text(&view["state"]), text(&view["reason"]["code"])), ("failed".into(), "disk-full".into()));
    assert!(renter.ok(&["why", &id]).contains("disk"));
    assert_eq!(site.on_the_machine(), Vec::<String>::new());
    assert_eq!(Traces::of(&site.slugs(), site.users()), Traces::default());
    assert_eq!(site.free("T4"), 1);
    let balance = renter.json(&["balance"]);
    assert_eq!((micros(&balance["posted"]), micros(&balance["held"])), (100_000_000, 0));
    // Where there is room again, the same instance can be started.
    std::fs::remove_file(&filler).unwrap();
    renter.ok(&["start", &id, "--wait"]);
    assert_eq!(renter.inside(&id, "echo here"), "here");
    renter.ok(&["release", &id, "--yes", "--wait"]);
    let to = instant(&renter.events(&id, "release-accepted"));
    assert_bill_is_right(&site, &renter, 100_000_000, &[since_ready(&renter, &id, to)]);
    site.assert_nothing_left();
}

#[test]
fn a_machine_out_of_touch_is_not_offered_and_nothing_is_billed_twice_or_lost() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let id = renter.rent("T4", &["--stop-idle", "off"]);
    begin_counting(&renter, &id);
    assert_eq!(site.free("L40S"), 1);
    site.signal_agent(Signal::STOP);
    let stopped = Continued(&site);
    eventually("its cards are withdrawn", || site.free("L40S") == 0);
    let refused = renter.run(&["--json", "rent", "--gpu", "L40S", "--disk", "1", "--wait"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert_eq!(renter.state(&id), "running");
    let incidents = site.operator.ok(&["incident", "ls", "--json"]);
    assert!(incidents.contains("node-out-of-touch"), "{incidents}");
    drop(stopped);
    eventually("its cards are back", || site.free("L40S") == 1);
    assert_counts_on(&renter, &id);
    // The kernel was the witness all along: the renter could use it, so it is one stretch.
    assert_one_stretch(&site, &renter, &id);
}

/// Lets a stopped agent go on, also when the test fails.
struct Continued<'a>(&'a Site);

impl Drop for Continued<'_> {
    fn drop(&mut self) {
        for pid in self.0.agents() {
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::CONT);
        }
    }
}

fn fill(mut file: std::fs::File, mib: u64) {
    use std::io::Write;
    let block = vec![1u8; 1 << 20];
    for _ in 0..mib {
        if file.write_all(&block).is_err() {
            return;
        }
    }
}

/// Wall clock, microseconds.
fn now() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}
