//! Commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use link::{Control, Frame, Open, Size};

use crate::support::{Guest, children, exec, memory, number, open_files, runs, until};

#[test]
fn output_and_errors_come_apart_with_the_exit_status() {
    let guest = Guest::start(&[]);
    let outcome = guest.sh("echo good; echo bad >&2; exit 3").outcome();
    assert!(outcome.started);
    assert_eq!((outcome.out().as_str(), outcome.err().as_str(), outcome.code()), ("good\n", "bad\n", 3));
    assert_eq!(guest.sh("kill -KILL $$").outcome().code(), 128 + 9);
}

#[test]
fn all_output_of_a_quick_command_arrives() {
    let guest = Guest::start(&[]);
    let outcome = guest.sh("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2").outcome();
    assert_eq!((outcome.stdout.len(), outcome.stderr.len(), outcome.code()), (3_000_000, 2_000_000, 0));
}

#[test]
fn end_of_input_reaches_the_command() {
    let guest = Guest::start(&[]);
    let mut caller = guest.exec(&["wc", "-c"]);
    caller.input(&vec![b'x'; 1_000_000]);
    caller.end_input();
    let outcome = caller.outcome();
    assert_eq!((outcome.out().trim(), outcome.code()), ("1000000", 0));
    // A command that does not want its input is no problem either.
    let mut caller = guest.exec(&["true"]);
    caller.input(&vec![b'x'; 100_000]);
    assert_eq!(caller.outcome().code(), 0);
}

#[test]
fn environment_and_place_are_as_asked() {
    let guest = Guest::start(&[]);
    let argv = ["sh", "-c", "pwd; echo $SUANLI_ADDED; echo ${PATH:+path} ${USER:+user} ${LANG:+lang}; ulimit -n"];
    let Open::Exec { argv, .. } = exec(&argv, None) else { unreachable!() };
    let env = [("SUANLI_ADDED".to_owned(), "here".to_owned())].into();
    let outcome = guest.open(Open::Exec { argv: argv.clone(), env, cwd: None, terminal: None }).outcome();
    let out = outcome.out();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[..3], [guest.home().to_str().unwrap(), "here", "path user lang"], "{outcome:?}");
    let own = std::process::Command::new("sh").args(["-c", "ulimit -n"]).output().unwrap();
    assert_eq!(lines[3], String::from_utf8(own.stdout).unwrap().trim());
    fs::create_dir(guest.home().join("sub")).unwrap();
    let open = Open::Exec { argv, env: Default::default(), cwd: Some("sub".into()), terminal: None };
    assert_eq!(guest.open(open).outcome().out().lines().next(), guest.home().join("sub").to_str());
}

#[test]
fn what_cannot_be_started_is_explained() {
    let guest = Guest::start(&[]);
    fs::write(guest.home().join("plain"), "text").unwrap();
    fs::write(guest.home().join("script"), "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(guest.home().join("script"), fs::Permissions::from_mode(0o755)).unwrap();
    for (argv, part) in [
        (["no-such-program"], "no program `no-such-program`"),
        (["/no/such/file"], "/no/such/file"),
        (["./plain"], "not executable"),
        (["./script"], "interpreter"),
        ([""], "no program ``"),
        (["a\0b"], "no program"),
    ] {
        let outcome = guest.exec(&argv).outcome();
        assert_eq!(outcome.error().0, "invalid-request", "{argv:?}");
        assert!(outcome.error().1.contains(part), "{argv:?}: {}", outcome.error().1);
        assert!(!outcome.started);
    }
    for (name, cwd, part) in [("A=B", None, "A=B"), ("", None, "environment"), ("A", Some("/none"), "/none")] {
        let env = [(name.to_owned(), String::new())].into();
        let open = Open::Exec { argv: vec!["true".into()], env, cwd: cwd.map(Into::into), terminal: None };
        let outcome = guest.open(open).outcome();
        assert_eq!(outcome.error().0, "invalid-request");
        assert!(outcome.error().1.contains(part), "{}", outcome.error().1);
    }
    assert_eq!(guest.exec(&["true", "a\0b"]).outcome().error().0, "invalid-request");
}

#[test]
fn no_command_means_the_login_shell() {
    let guest = Guest::start(&[]);
    fs::write(guest.home().join(".profile"), "PROFILE=read\n").unwrap();
    fs::write(guest.home().join(".bash_profile"), "PROFILE=read\n").unwrap();
    let mut caller = guest.exec(&[]);
    caller.input(b"echo profile $PROFILE\nexit 5\n");
    let outcome = caller.outcome();
    assert_eq!(outcome.code(), 5);
    assert!(outcome.out().contains("profile read"), "{outcome:?}");
}

#[test]
fn terminals_have_the_size_that_was_asked_for_and_change_it() {
    let guest = Guest::start(&[]);
    let line = "stty size; trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done";
    let mut caller = guest.terminal(&["bash", "-c", line], 33, 99);
    assert!(caller.wait_for("ready").contains("33 99"));
    caller.control(Control::Resize(Size { rows: 44, cols: 111 }));
    let outcome = caller.outcome();
    assert!(outcome.out().contains("44 111"), "{outcome:?}");
    assert_eq!(outcome.code(), 0);
}

#[test]
fn terminals_are_terminals() {
    let guest = Guest::start(&[]);
    let outcome =
        guest.terminal(&["sh", "-c", "tty && test -t 2 && echo $TERM && echo all >/dev/tty"], 24, 80).outcome();
    assert!(outcome.out().contains("xterm-256color\r\nall\r\n"), "{outcome:?}");
    assert_eq!(outcome.code(), 0);
    assert!(outcome.stderr.is_empty());
}

#[test]
fn the_end_of_input_ends_a_program_on_a_terminal() {
    let guest = Guest::start(&[]);
    let mut caller = guest.terminal(&["cat"], 24, 80);
    caller.input(b"line\n");
    caller.wait_for("line");
    caller.end_input();
    assert_eq!(caller.outcome().code(), 0);
}

#[test]
fn control_c_interrupts_what_runs_on_the_terminal() {
    let guest = Guest::start(&[]);
    let line = "trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done";
    let mut caller = guest.terminal(&["sh", "-c", line], 24, 80);
    caller.wait_for("ready");
    caller.input(b"\x03");
    let outcome = caller.outcome();
    assert!(outcome.out().contains("caught"), "{outcome:?}");
    assert_eq!(outcome.code(), 7);
}

#[test]
fn signals_reach_the_foreground_of_a_terminal_only() {
    let guest = Guest::start(&[]);
    let mut caller = guest.terminal(&["bash", "-i"], 24, 80);
    caller.input(b"PS1=; bash -c 'echo rea''dy; exec sleep 600'; echo status $?\n");
    caller.wait_for("ready");
    // The job is in the foreground before it can print.
    caller.control(Control::Signal { number: 15 });
    caller.wait_for("status 143");
    caller.input(b"exit 4\n");
    assert_eq!(caller.outcome().code(), 4);
}

#[test]
fn signals_reach_the_whole_command() {
    let guest = Guest::start(&[]);
    let mut caller = guest.sh("sleep 600 & echo $! > child; echo ready; wait");
    caller.wait_for("ready");
    caller.control(Control::Signal { number: 15 });
    assert_eq!(caller.outcome().code(), 128 + 15);
    let child = number(&guest.home().join("child"));
    until("the child is gone", || (!runs(child)).then_some(()));
}

#[test]
fn a_thousand_commands_leave_nothing_behind() {
    let guest = Guest::start(&[]);
    assert_eq!(guest.exec(&["true"]).outcome().code(), 0);
    let files = until("streams end", || Some(open_files(guest.pid)).filter(|_| threads(guest.pid) == 2));
    std::thread::scope(|scope| {
        for part in 0..4 {
            let guest = &guest;
            scope.spawn(move || {
                for n in 0..250 {
                    let outcome = match n % 25 {
                        0 => guest.terminal(&["sh", "-c", "exit 2"], 24, 80).outcome(),
                        _ => guest.sh("exit 2").outcome(),
                    };
                    assert_eq!(outcome.code(), 2, "{part}/{n}: {outcome:?}");
                }
            });
        }
    });
    until("streams end", || (threads(guest.pid) == 2).then_some(()));
    assert_eq!(children(guest.pid), [0u32; 0], "zombies");
    assert_eq!(open_files(guest.pid), files);
}

fn threads(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).unwrap().count()
}

#[test]
fn orphans_are_collected() {
    let guest = Guest::start(&[]);
    // The middle shell ends at once, so the sleeper loses its parent.
    let outcome = guest.sh("(sh -c 'echo $$ > orphan; exec sleep 0.3' >/dev/null 2>&1 &)").outcome();
    assert_eq!(outcome.code(), 0);
    let orphan = number(&guest.home().join("orphan"));
    until("the orphan is ours", || {
        (children(guest.pid).contains(&orphan) || !fs::exists(format!("/proc/{orphan}")).unwrap()).then_some(())
    });
    until("the orphan is collected", || (!fs::exists(format!("/proc/{orphan}")).unwrap()).then_some(()));
    assert!(children(guest.pid).is_empty());
}

#[test]
fn a_command_ends_when_its_caller_goes_away() {
    let guest = Guest::start(&[]);
    for (line, terminal) in [
        ("echo $$ > pid; echo ready; exec sleep 600", false),
        ("trap '' HUP TERM; echo $$ > pid; echo ready; while :; do sleep 0.1; done", false),
        ("trap '' HUP TERM; echo $$ > pid; echo ready; while :; do sleep 0.1; done", true),
        ("(trap '' HUP; exec sleep 600) & echo $! > pid; echo ready; wait", false),
        ("echo $$ > pid; echo ready; exec yes", false),
    ] {
        let _ = fs::remove_file(guest.home().join("pid"));
        let size = terminal.then_some(Size { rows: 24, cols: 80 });
        let mut caller = guest.open(exec(&["sh", "-c", line], size));
        caller.wait_for("ready");
        drop(caller);
        let pid = number(&guest.home().join("pid"));
        until(line, || (!runs(pid)).then_some(()));
    }
    until("nothing is left", || children(guest.pid).is_empty().then_some(()));
}

#[test]
fn a_background_process_does_not_hold_the_stream() {
    let guest = Guest::start(&[]);
    let outcome = guest.sh("sleep 600 & echo $! > pid; echo done").outcome();
    assert_eq!((outcome.out().as_str(), outcome.code()), ("done\n", 0));
    // Nor one that never stops talking.
    let outcome = guest.sh("(while :; do echo more; sleep 0.2; done) & echo $! > loud; exit 9").outcome();
    assert_eq!(outcome.code(), 9);
    for name in ["pid", "loud"] {
        assert!(runs(number(&guest.home().join(name))), "{name} was left alone");
    }
}

#[test]
fn a_slow_caller_slows_the_command_and_not_the_memory() {
    const SIZE: usize = 60_000_000;
    let guest = Guest::start(&[]);
    let before = memory(guest.pid);
    let mut caller = guest.sh(&format!("echo $$ > pid; exec head -c {SIZE} /dev/zero"));
    let pid = number(&guest.home().join("pid"));
    let written = || {
        let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
        io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse::<usize>().ok()).unwrap()
    };
    let (mut last, mut same) = (0, 0);
    until("the command waits", || {
        let now = written();
        same = if now == last && now > 0 { same + 1 } else { 0 };
        last = now;
        (same >= 20).then_some(())
    });
    assert!(last < SIZE / 10, "{last} bytes went ahead of the caller");
    assert!(memory(guest.pid) < before + 2048, "{} KiB, before {before}", memory(guest.pid));
    let outcome = caller.outcome();
    assert_eq!((outcome.stdout.len(), outcome.code()), (SIZE, 0));
}

#[test]
fn a_command_that_does_not_read_slows_the_caller_and_not_the_memory() {
    let guest = Guest::start(&[]);
    let before = memory(guest.pid);
    let mut caller = guest.sh("echo ready; exec sleep 600");
    caller.wait_for("ready");
    caller.0.set_nonblocking(true).unwrap();
    let mut bytes = Vec::new();
    Frame::Stdin(vec![0; link::MAX_PAYLOAD]).encode(&mut bytes).unwrap();
    let mut sent = 0;
    let mut full = 0;
    while full < 20 {
        match std::io::Write::write(&mut caller.0, &bytes[sent % bytes.len()..]) {
            Ok(count) => {
                sent += count;
                full = 0;
            }
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                full += 1;
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
        assert!(sent < 20_000_000, "the caller was never slowed");
    }
    assert!(memory(guest.pid) < before + 2048, "{} KiB, before {before}", memory(guest.pid));
    // Even so, its going away is noticed.
    let pid = *children(guest.pid).first().unwrap();
    drop(caller);
    until("the command ends", || (!runs(pid)).then_some(()));
}
