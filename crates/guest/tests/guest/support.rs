//! One running helper, and a caller of its streams.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use link::{Control, Frame, Open, Size};

/// Total time after which a condition counts as never met.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `met` gives something; fails with `what` when it never does.
pub fn until<T>(what: &str, mut met: impl FnMut() -> Option<T>) -> T {
    let step = Duration::from_millis(10);
    for _ in 0..PATIENCE.as_millis() / step.as_millis() {
        if let Some(found) = met() {
            return found;
        }
        std::thread::sleep(step);
    }
    panic!("never happened: {what}");
}

/// The helper to test; `SUANLI_GUEST` names another build of it, such as the static one.
pub fn program() -> OsString {
    std::env::var_os("SUANLI_GUEST").unwrap_or_else(|| env!("CARGO_BIN_EXE_suanli-guest").into())
}

/// A running helper; ended when dropped.
pub struct Guest {
    process: Child,
    /// The helper's own process number.
    pub pid: u32,
    folder: tempfile::TempDir,
}

impl Guest {
    /// An ordinary helper, not the first process of anything.
    pub fn start(options: &[&str]) -> Self {
        Self::start_through(Command::new(program()), options)
    }

    /// The first process of a PID namespace of its own, where `first` (shell) ran before.
    pub fn start_as_first(first: &str, options: &[&str]) -> Self {
        let mut command = Command::new("unshare");
        if fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own)).unwrap() != 0 {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--mount", "--fork", "--pid", "--mount-proc", "--kill-child", "sh", "-c"]);
        command.arg(format!("{first}\nexec \"$0\" \"$@\"")).arg(program());
        Self::start_through(command, options)
    }

    fn start_through(mut command: Command, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        let socket = folder.path().join("guest.sock");
        command.args(["init", "--grace-ms", "3000", "--socket"]).arg(&socket);
        command.arg("--log").arg(folder.path().join("log")).args(options);
        command.env("HOME", &home).env_remove("TERM").stdin(Stdio::null());
        let process = command.spawn().unwrap();
        let outer = process.id();
        until("the socket appears", || socket.exists().then_some(()));
        let own = |pid: u32| fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name == b"suanli-guest\n");
        let pid = if own(outer) { outer } else { *children(outer).first().unwrap() };
        assert!(own(pid));
        Self { process, pid, folder }
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("guest.sock")
    }

    pub fn beside_socket(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    pub fn connect(&self) -> Caller {
        let socket = UnixStream::connect(self.socket()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        Caller(socket)
    }

    pub fn open(&self, open: Open) -> Caller {
        let mut caller = self.connect();
        caller.control(Control::Open(open));
        caller
    }

    pub fn exec(&self, argv: &[&str]) -> Caller {
        self.open(exec(argv, None))
    }

    /// Starts a shell line.
    pub fn sh(&self, line: &str) -> Caller {
        self.exec(&["sh", "-c", line])
    }

    pub fn terminal(&self, argv: &[&str], rows: u16, cols: u16) -> Caller {
        self.open(exec(argv, Some(Size { rows, cols })))
    }

    pub fn signal(&self, signal: &str) {
        kill(self.pid, signal);
    }

    /// Asks the helper to end and waits until it has.
    pub fn end(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.process.wait().unwrap()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if self.process.try_wait().unwrap().is_none() {
            self.end();
        }
    }
}

pub fn exec(argv: &[&str], terminal: Option<Size>) -> Open {
    Open::Exec { argv: argv.iter().map(|word| (*word).to_owned()).collect(), env: BTreeMap::new(), cwd: None, terminal }
}

/// What a stream brought until its last frame.
#[derive(Debug, Default)]
pub struct Outcome {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub started: bool,
    pub last: Option<Control>,
}

impl Outcome {
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    pub fn code(&self) -> i32 {
        match &self.last {
            Some(Control::Exit { code }) => *code,
            other => panic!("no exit status: {other:?}"),
        }
    }

    pub fn error(&self) -> (&str, &str) {
        match &self.last {
            Some(Control::Error { cause, message }) => (cause, message),
            other => panic!("no error: {other:?}"),
        }
    }
}

/// The caller's end of one stream.
pub struct Caller(pub UnixStream);

impl Caller {
    pub fn send(&mut self, frame: &Frame) {
        frame.write(&mut self.0).unwrap();
    }

    pub fn control(&mut self, control: Control) {
        self.send(&Frame::Control(control));
    }

    pub fn input(&mut self, data: &[u8]) {
        for part in data.chunks(link::MAX_PAYLOAD) {
            self.send(&Frame::Stdin(part.to_vec()));
        }
    }

    pub fn end_input(&mut self) {
        self.send(&Frame::Stdin(Vec::new()));
    }

    pub fn receive(&mut self) -> Option<Frame> {
        Frame::read(&mut self.0).unwrap()
    }

    /// Reads standard output until `text` was in it.
    pub fn wait_for(&mut self, text: &str) -> String {
        let mut seen = Vec::new();
        loop {
            match self.receive() {
                Some(Frame::Stdout(data)) => seen.extend(data),
                Some(Frame::Control(Control::Started)) => {}
                other => panic!("{other:?} before `{text}`, after {}", String::from_utf8_lossy(&seen)),
            }
            let so_far = String::from_utf8_lossy(&seen).into_owned();
            if so_far.contains(text) {
                return so_far;
            }
        }
    }

    /// Reads everything to the end of the stream.
    pub fn outcome(&mut self) -> Outcome {
        let mut outcome = Outcome::default();
        while let Some(frame) = self.receive() {
            assert!(outcome.last.is_none(), "{frame:?} after the last frame");
            match frame {
                Frame::Stdout(data) => outcome.stdout.extend(data),
                Frame::Stderr(data) => outcome.stderr.extend(data),
                Frame::Control(Control::Started) => outcome.started = true,
                Frame::Control(last) => outcome.last = Some(last),
                Frame::Stdin(_) => panic!("input came back"),
            }
        }
        outcome
    }
}

/// Process numbers of the direct children of a process.
pub fn children(of: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        if parent == Some(of) {
            found.push(pid);
        }
    }
    found
}

/// Whether a process runs (a zombie does not).
pub fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
}

pub fn kill(pid: u32, signal: &str) {
    Command::new("kill").args(["-s", signal, &pid.to_string()]).status().unwrap();
}

pub fn open_files(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// Resident memory, KiB.
pub fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

pub fn number(path: &Path) -> u32 {
    until("a file with a number", || fs::read_to_string(path).ok()?.trim().parse().ok())
}
