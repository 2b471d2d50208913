//! `suanli run`: whatever happens, nothing stays rented.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};

use base::{Cause, Error};
use domain::instance::State;
use rustix::process::{Pid, Signal, kill_process};

use super::data;
use super::server::Server;

const RUN: &[&str] = &["run", "--gpu", "RTX 4090", "--"];

#[test]
fn a_job_streams_its_output_releases_and_ends_with_its_status() {
    let server = Server::start();
    server.plan().states = VecDeque::from([State::Requested, State::Creating, State::Starting, State::Running]);
    let ran = server.run(&[RUN, &["both", "42"]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (42, "to out\n"));
    assert!(ran.err.contains("to err\n") && ran.err.ends_with("cost: 0.421337 CNY\n"), "{}", ran.err);
    assert_eq!(server.asked("POST", "/release").len(), 1);
    assert_eq!(server.plan().states, [State::Released]);
}

#[test]
fn an_interrupted_job_is_released() {
    let server = Server::start();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        server.plan().states = VecDeque::from([State::Running]);
        server.plan().asked.clear();
        let mut child = server.spawn(&[RUN, &["wait"]].concat());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(server.asked("POST", "/release").len(), 1);
        assert_eq!(server.plan().states, [State::Released]);
    }
}

#[test]
fn an_interrupt_while_it_starts_releases_too() {
    let server = Server::start();
    server.plan().states = VecDeque::from([State::Starting]);
    let mut child = server.spawn(&[RUN, &["both", "0"]].concat());
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.ends_with(": starting\n"), "{line}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(server.asked("POST", "/release").len(), 1);
}

#[test]
fn a_job_that_cannot_start_is_released_and_tells_why() {
    let server = Server::start();
    server.plan().states = VecDeque::from([State::Creating, State::Failed]);
    server.plan().reason = Some(data::reason(Cause::LostRace));
    let ran = server.run(&[RUN, &["both", "0"]].concat());
    assert_eq!(ran.code, 3);
    assert_eq!(ran.err.matches("refused (lost-race)").count(), 1, "{}", ran.err);
    assert_eq!(server.asked("POST", "/release").len(), 1);
}

#[test]
fn an_unknown_program_releases_too() {
    let server = Server::start();
    let ran = server.run(&[RUN, &["missing"]].concat());
    assert_eq!(ran.code, 4);
    assert_eq!(server.asked("POST", "/release").len(), 1);
}

#[test]
fn a_release_that_fails_says_that_money_may_still_run() {
    let server = Server::start();
    server.plan().refuse = Some(("/release", Error::new(Cause::Unavailable, "no")));
    let ran = server.run(&[RUN, &["both", "0"]].concat());
    assert_eq!(ran.code, 6);
    assert!(ran.err.contains("may still be rented and may still cost money"), "{}", ran.err);
    assert!(ran.err.contains(&format!("suanli release {}", data::instance_id())));
}

#[test]
fn a_refused_rent_releases_nothing() {
    let server = Server::start();
    server.plan().refuse = Some(("/v1/instances", Error::new(Cause::NoCapacity, "all taken")));
    let ran = server.run(&[RUN, &["both", "0"]].concat());
    assert_eq!(ran.code, 3);
    assert_eq!(server.plan().asked.len(), 1);
}
