//! Commands in an instance.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::server::{Ran, Server, eventually};

#[test]
fn output_error_output_and_status_come_through() {
    let server = Server::start();
    let ran = server.run(&["exec", "box", "--", "both", "42"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (42, "to out\n", "to err\n"));
}

#[test]
fn input_of_any_length_goes_in_and_its_end_too() {
    let server = Server::start();
    let text = "0123456789abcdef".repeat(20_000);
    let mut child = server
        .command(&["exec", "box", "--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let sent = text.clone();
    let writer = std::thread::spawn(move || input.write_all(sent.as_bytes()).unwrap());
    let ran = Ran::of(child.wait_with_output().unwrap());
    writer.join().unwrap();
    assert_eq!(ran.code, 0);
    assert!(ran.out == text, "{} bytes came back", ran.out.len());
}

#[test]
fn the_environment_arrives() {
    let server = Server::start();
    let ran = server.run(&["exec", "box", "-e", "A=1", "-e", "B=two words", "--", "env"]);
    assert_eq!(ran.out, "A=1\nB=two words\n", "{ran:?}");
}

#[test]
fn a_program_that_is_not_there_is_a_refusal_with_its_cause() {
    let server = Server::start();
    let ran = server.run(&["exec", "box", "--", "missing"]);
    assert_eq!((ran.code, ran.err.as_str()), (4, "refused (not-found): there is no program `missing`\n"));
}

#[test]
fn a_refused_stream_keeps_the_servers_cause() {
    let server = Server::start();
    let error = base::Error::new(base::Cause::WrongState, "the instance is stopped").hint("start it");
    server.plan().refuse = Some(("/stream", error));
    let ran = server.run(&["ssh", "box", "--", "ls"]);
    assert_eq!((ran.code, ran.err.as_str()), (3, "refused (wrong-state): the instance is stopped\nhint: start it\n"));
}

#[test]
fn a_stream_cut_off_in_the_middle_is_an_error() {
    let server = Server::start();
    let ran = server.run(&["exec", "box", "--", "cut"]);
    assert_eq!((ran.code, ran.out.as_str()), (6, "half a"));
    assert!(ran.err.contains("refused (unavailable)"));
}

#[test]
fn ssh_gives_its_words_to_a_shell_as_ssh_does() {
    let server = Server::start();
    let ran = server.run(&["ssh", "box", "--", "ls", "*.py"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "shell: ls *.py\n"));
}

#[test]
fn an_interrupt_goes_to_the_command() {
    let server = Server::start();
    let mut child = server.spawn(&["exec", "box", "--", "wait"]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "waiting\n");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    eventually("the signal arrives", || server.plan().streams.iter().any(|s| s == "Signal { number: 2 }"));
}
