//! The helper's own life: start, proof, end.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use link::{Control, Frame, Open};

use crate::support::{Guest, children, number, runs, until};

#[test]
fn the_socket_is_for_its_owner_and_replaces_a_stale_one() {
    let mut guest = Guest::start(&[]);
    assert_eq!(fs::metadata(guest.socket()).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(guest.end().success());
    assert!(!guest.socket().exists(), "nobody answers any more");
    drop(UnixListener::bind(guest.socket()).unwrap());
    let again =
        std::process::Command::new(crate::support::program()).args(["init", "--socket"]).arg(guest.socket()).spawn();
    let mut again = again.unwrap();
    let stream = until("the stale socket is replaced", || std::os::unix::net::UnixStream::connect(guest.socket()).ok());
    drop(stream);
    crate::support::kill(again.id(), "TERM");
    assert!(again.wait().unwrap().success());
}

#[test]
fn everything_ends_in_time() {
    let mut guest = Guest::start(&[]);
    let mut polite = guest.sh("trap 'echo saved > saved; exit 6' TERM; echo ready; while :; do sleep 0.05; done");
    let mut deaf = guest.sh("trap '' TERM HUP; echo $$ > deaf; echo ready; while :; do sleep 0.05; done");
    let mut daemon =
        guest.sh("setsid sh -c 'trap \"\" TERM HUP; echo $$ > daemon; sleep 600' >/dev/null 2>&1 & echo ready");
    let mut stopped = guest.sh("trap 'exit 5' TERM; echo ready; kill -STOP $$; sleep 600 & wait");
    for caller in [&mut polite, &mut deaf, &mut daemon, &mut stopped] {
        caller.wait_for("ready");
    }
    let pids = [number(&guest.home().join("deaf")), number(&guest.home().join("daemon"))];
    assert!(guest.end().success());
    assert_eq!(polite.outcome().code(), 6);
    assert_eq!(stopped.outcome().code(), 5);
    assert_eq!(deaf.outcome().code(), 128 + 9);
    assert!(guest.home().join("saved").exists());
    for pid in pids {
        assert!(!runs(pid));
    }
    assert!(guest.log().contains("killed"), "{}", guest.log());
}

#[test]
fn idle_terminals_do_not_delay_the_end() {
    let mut guest = Guest::start(&[]);
    let mut caller = guest.terminal(&["bash", "-i"], 24, 80);
    caller.input(b"echo rea''dy\n");
    caller.wait_for("ready");
    assert!(guest.end().success());
    assert!(!guest.log().contains("killed"), "{}", guest.log());
}

#[test]
fn nobody_elses_process_is_ended() {
    let mut stranger = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let mut guest = Guest::start(&[]);
    let mut caller = guest.sh("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    caller.wait_for("ready");
    assert!(guest.end().success());
    assert!(runs(stranger.id()));
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn the_first_process_collects_and_ends_all() {
    let mut guest = Guest::start_as_first(":", &["--on-start", "exit 4"]);
    let outcome = guest.sh("cat /proc/1/comm; readlink /proc/self").outcome();
    assert!(outcome.out().starts_with("suanli-guest\n"), "{outcome:?}");
    let own = guest.exec(&["true"]).outcome();
    assert_eq!(own.code(), 0);
    for _ in 0..50 {
        assert_eq!(guest.sh("(sleep 0.01 >/dev/null 2>&1 &); exit 1").outcome().code(), 1);
    }
    until("orphans are collected", || children(guest.pid).is_empty().then_some(()));
    // Inside, nobody can end the first process in a way that it does not take itself.
    assert_eq!(guest.sh("kill -KILL 1; kill -INT $$; exit 3").outcome().code(), 128 + 2);
    let mut deaf = guest.sh(
        "trap '' TERM HUP; setsid sleep 600 >/dev/null 2>&1 & trap '' TERM; echo ready; while :; do sleep 0.05; done",
    );
    deaf.wait_for("ready");
    let before = children(guest.pid);
    assert!(!before.is_empty());
    let mut terminal = guest.terminal(&["bash", "-i"], 24, 80);
    terminal.input(b"echo rea''dy\n");
    terminal.wait_for("ready");
    assert_eq!(number(&guest.beside_socket("on-start.exit")), 4);
    assert!(guest.end().success());
    assert_eq!(deaf.outcome().code(), 128 + 9);
    assert!(!before.into_iter().any(runs));
}

#[test]
fn on_start_runs_once_and_its_end_is_recorded() {
    let guest = Guest::start(&["--on-start", "echo words; echo more >&2; pwd > where; exit 42"]);
    assert_eq!(number(&guest.beside_socket("on-start.exit")), 42);
    let Some(Frame::Control(Control::Seen { uid, on_start_exit, .. })) = guest.open(Open::Look).receive() else {
        panic!("no answer");
    };
    assert_eq!(on_start_exit, Some(42));
    assert_eq!(uid, fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own)).unwrap());
    assert_eq!(fs::read_to_string(guest.home().join("where")).unwrap().trim(), guest.home().to_str().unwrap());
    let place = if std::path::Path::new("/workspace").is_dir() { "/workspace".into() } else { guest.home() };
    let log = fs::read_to_string(place.join(".suanli/on-start.log")).unwrap();
    assert!(log.ends_with("words\nmore\n"), "{log}");
}

#[test]
fn on_start_that_runs_has_no_exit_status_yet() {
    let mut guest = Guest::start(&["--on-start", "echo $$ > pid; exec sleep 600"]);
    let pid = number(&guest.home().join("pid"));
    let mut look = guest.open(Open::Look);
    assert!(matches!(look.receive(), Some(Frame::Control(Control::Seen { on_start_exit: None, .. }))));
    assert_eq!(look.receive(), None);
    assert!(!guest.beside_socket("on-start.exit").exists());
    assert!(guest.end().success());
    assert!(!runs(pid));
    assert_eq!(number(&guest.beside_socket("on-start.exit")), 128 + 15);
}

#[test]
fn malformed_streams_are_refused() {
    let guest = Guest::start(&[]);
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[9, 0, 0, 0, 0],
        &[0, 0xff, 0xff, 0xff, 0xff],
        &[3, 0, 0, 0, 2, b'{', b'}'],
        &[3, 0, 0, 0, 1, 0xff],
        &[0, 0, 0, 0, 0],
    ] {
        let mut caller = guest.connect();
        caller.0.write_all(bytes).unwrap();
        assert_eq!(caller.outcome().error().0, "invalid-request", "{bytes:?}");
    }
    // In the middle of a command: it ends too.
    for frame in
        [Frame::Stdout(vec![1]), Frame::Control(Control::Started), Frame::Control(Control::Signal { number: 99 })]
    {
        let mut caller = guest.sh("echo ready; exec sleep 600");
        caller.wait_for("ready");
        caller.send(&frame);
        assert_eq!(caller.outcome().error().0, "invalid-request", "{frame:?}");
    }
    // Half a frame, then nothing: no answer, no harm.
    let mut caller = guest.connect();
    caller.0.write_all(&[3, 0]).unwrap();
    caller.0.shutdown(std::net::Shutdown::Write).unwrap();
    let mut rest = Vec::new();
    caller.0.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
    until("nothing is left", || children(guest.pid).is_empty().then_some(()));
    assert_eq!(guest.exec(&["true"]).outcome().code(), 0);
}

#[test]
fn detached_it_answers_as_soon_as_its_starter_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("guest.sock");
    let start = |path: &std::path::Path| {
        let workspace = folder.path().join("work");
        let mut command = std::process::Command::new(crate::support::program());
        command.args(["init", "--detach", "--workspace"]).arg(workspace).arg("--socket").arg(path).output().unwrap()
    };
    let started = start(&socket);
    assert!(started.status.success(), "{started:?}");
    assert!(folder.path().join("work").is_dir());
    let stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    let pid = rustix::net::sockopt::socket_peercred(&stream).unwrap().pid.as_raw_pid();
    let group = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    assert_eq!(group.split_whitespace().nth(5), Some(pid.to_string().as_str()), "a session of its own");
    drop(stream);
    crate::support::kill(u32::try_from(pid).unwrap(), "TERM");
    crate::support::until("it ends", || (!socket.exists()).then_some(()));

    let failed = start(std::path::Path::new("/proc/nowhere/guest.sock"));
    assert!(!failed.status.success());
    assert!(String::from_utf8_lossy(&failed.stderr).contains("/proc/nowhere"), "{failed:?}");
}
