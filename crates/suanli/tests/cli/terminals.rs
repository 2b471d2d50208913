//! A shell on a real (pseudo) terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};

use super::server::{Server, eventually};

struct Terminal {
    user: File,
    program: OwnedFd,
    seen: Arc<Mutex<String>>,
}

impl Terminal {
    fn open(rows: u16, cols: u16) -> Self {
        let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&user).unwrap();
        unlockpt(&user).unwrap();
        let name = ptsname(&user, Vec::new()).unwrap();
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
        let program = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty()).unwrap();
        let user = File::from(user);
        let terminal = Self { user, program, seen: Arc::default() };
        terminal.resize(rows, cols);
        let (mut from, seen) = (terminal.user.try_clone().unwrap(), terminal.seen.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                seen.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        });
        terminal
    }

    fn resize(&self, rows: u16, cols: u16) {
        tcsetwinsize(&self.user, Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    }

    /// Runs the program with this as its controlling terminal.
    fn run(&self, server: &Server, args: &[&str]) -> Child {
        let inner = server.command(args);
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(inner.get_program()).args(inner.get_args());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let end = || Stdio::from(self.program.try_clone().unwrap());
        command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap()
    }

    fn type_in(&mut self, keys: &str) {
        self.user.write_all(keys.as_bytes()).unwrap();
    }

    fn wait_for(&self, text: &str) {
        eventually(&format!("{text:?} in {:?}", self.seen.lock().unwrap()), || {
            self.seen.lock().unwrap().contains(text)
        });
    }

    fn mode(&self) -> Termios {
        tcgetattr(&self.program).unwrap()
    }

    fn is_raw(&self) -> bool {
        !self.mode().local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }
}

fn same(a: &Termios, b: &Termios) -> bool {
    (a.input_modes, a.output_modes, a.control_modes, a.local_modes)
        == (b.input_modes, b.output_modes, b.control_modes, b.local_modes)
}

#[test]
fn a_shell_passes_keys_and_sizes_through_and_gives_the_terminal_back() {
    let server = Server::start();
    let mut terminal = Terminal::open(30, 100);
    let before = terminal.mode();
    let mut child = terminal.run(&server, &["ssh", "box"]);
    terminal.wait_for("size 30x100");
    eventually("raw mode", || terminal.is_raw());
    terminal.type_in("ab\x03");
    terminal.wait_for("\\x03");
    terminal.resize(40, 120);
    terminal.wait_for("resized 40x120");
    terminal.type_in("q");
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert!(same(&terminal.mode(), &before));
}

#[test]
fn tilde_dot_leaves_and_gives_the_terminal_back() {
    let server = Server::start();
    let mut terminal = Terminal::open(24, 80);
    let before = terminal.mode();
    let mut child = terminal.run(&server, &["ssh", "box"]);
    terminal.wait_for("size 24x80");
    eventually("raw mode", || terminal.is_raw());
    terminal.type_in("\r~.");
    assert_eq!(child.wait().unwrap().code(), Some(255));
    assert!(same(&terminal.mode(), &before));
    eventually("the other side learns", || server.plan().streams.iter().any(|s| s == "closed"));
}

#[test]
fn a_program_that_is_ended_gives_the_terminal_back() {
    let server = Server::start();
    let terminal = Terminal::open(24, 80);
    let before = terminal.mode();
    let mut child = terminal.run(&server, &["exec", "box", "-t", "--", "top"]);
    terminal.wait_for("size 24x80");
    eventually("raw mode", || terminal.is_raw());
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    child.wait().unwrap();
    eventually("the terminal is as before", || same(&terminal.mode(), &before));
}

#[test]
fn the_live_view_takes_the_whole_terminal_and_gives_it_back() {
    let server = Server::start();
    let mut terminal = Terminal::open(24, 110);
    let before = terminal.mode();
    let mut child = terminal.run(&server, &["top", "--interval", "100ms"]);
    terminal.wait_for("\x1b[?1049h");
    terminal.wait_for("93 %");
    terminal.wait_for("\x1b[31misolation none");
    terminal.type_in("q");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    terminal.wait_for("\x1b[?1049l");
    assert!(same(&terminal.mode(), &before));
}

#[test]
fn a_password_is_not_shown_while_it_is_typed() {
    let server = Server::start();
    let mut terminal = Terminal::open(24, 80);
    let mut child = terminal.run(&server, &["login", &server.url]);
    terminal.wait_for("user: ");
    terminal.type_in("ann\r");
    terminal.wait_for("password of ann: ");
    eventually("no echo", || !terminal.mode().local_modes.contains(LocalModes::ECHO));
    terminal.type_in(" correct horse \r");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    terminal.wait_for("signed in");
    assert!(!terminal.seen.lock().unwrap().contains("horse"));
    assert!(terminal.mode().local_modes.contains(LocalModes::ECHO));
}

#[test]
fn a_release_asks_first_and_no_means_no() {
    let server = Server::start();
    let mut terminal = Terminal::open(24, 80);
    let mut child = terminal.run(&server, &["release", "box"]);
    terminal.wait_for("will be removed. Release it? [y/N]");
    terminal.type_in("\r");
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert!(server.asked("POST", "/release").is_empty());
    let mut child = terminal.run(&server, &["release", "box"]);
    eventually("the second question", || terminal.seen.lock().unwrap().matches("[y/N]").count() == 2);
    terminal.type_in("yes\r");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(server.asked("POST", "/release").len(), 1);
}
