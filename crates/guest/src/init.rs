//! The first process: signals, orphans, and the end of everything.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, set_child_subreaper, setrlimit};

use crate::Arguments;
use crate::house::House;
use crate::reaper::{Left, signal_group};
use crate::surroundings::Surroundings;
use crate::{on_start, serve};

/// How long killed processes may take to be gone; the rest is stuck in the kernel.
const KILL_LIMIT: Duration = Duration::from_secs(2);
/// How long callers get to hear the exit status of commands that the stop ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
const STEP: Duration = Duration::from_millis(50);

/// Runs the helper until it is asked to end and everything inside has ended. `ready`
/// is called once streams are answered.
///
/// # Errors
/// The helper cannot start; the text says why.
pub fn run(arguments: &Arguments, ready: impl FnOnce()) -> Result<(), String> {
    let (socket, grace) = (arguments.socket.as_path(), arguments.grace);
    // Before any thread exists, so that every thread inherits the blocked signals
    // and only the main thread takes them.
    let signals = Signals::block();
    save_memory();
    let first = std::process::id() == 1;
    if !first {
        // Orphans come to us as they come to a first process.
        set_child_subreaper(Some(rustix::process::getpid())).map_err(|error| format!("adopting orphans: {error}"))?;
    }
    let open_files = raise_open_files();
    let house = House::new(Surroundings::inherited(), open_files, arguments.log.as_deref())
        .map_err(|error| format!("the log: {error}"))?;
    let house = Arc::new(house);
    let folder = socket.parent().unwrap_or(Path::new(".")).to_owned();
    // Of an earlier run; it must not be taken for the exit of this one's command.
    let _ = std::fs::remove_file(folder.join(on_start::EXIT_FILE));
    let listener = serve::listen(socket).map_err(|error| format!("{}: {error}", socket.display()))?;
    let shared = Arc::clone(&house);
    let accepting = std::thread::Builder::new().name("accept".into()).stack_size(128 * 1024);
    accepting.spawn(move || serve::accept(&listener, &shared)).map_err(|error| format!("a thread: {error}"))?;
    house.log(format_args!("version {} answers on {}", env!("CARGO_PKG_VERSION"), socket.display()));
    if let Some(line) = arguments.on_start.clone() {
        on_start::start(&house, line, folder);
    }
    ready();
    loop {
        match signals.wait(None) {
            Some(libc::SIGCHLD) => drop(house.children.reap()),
            Some(libc::SIGTERM | libc::SIGINT) => break,
            _ => {}
        }
    }
    house.log("asked to end");
    let _ = std::fs::remove_file(socket);
    house.children.close();
    end_everything(&house, &signals, grace, first);
    house.wait_for_commands(LAST_WORDS);
    house.log("ended");
    Ok(())
}

fn end_everything(house: &House, signals: &Signals, grace: Duration, first: bool) {
    let tell = |signal| if first { tell_all(signal) } else { tell_descendants(house, signal) };
    tell(libc::SIGTERM);
    // A stopped process would otherwise sleep through its chance to end well.
    tell(libc::SIGCONT);
    if gone(house, signals, Instant::now() + grace, || hang_up_idle_shells(house)) {
        return;
    }
    house.log("some processes did not end in time and are killed");
    let kill = || tell(libc::SIGKILL);
    kill();
    if !gone(house, signals, Instant::now() + KILL_LIMIT, kill) {
        house.log("some processes could not be killed");
    }
}

/// Waits until no descendant is left; `again` runs at every step.
fn gone(house: &House, signals: &Signals, end: Instant, again: impl Fn()) -> bool {
    loop {
        if house.children.try_reap() == Left::None {
            return true;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        signals.wait(Some(left.min(STEP)));
        again();
    }
}

/// Interactive shells ignore SIGTERM. They get a hang-up, but only when nothing else
/// is left: earlier, it would reach a program that still saves its work.
fn hang_up_idle_shells(house: &House) {
    let terminals = house.children.leaders(true);
    let left = descendants(std::process::id());
    if left.iter().all(|pid| terminals.contains(pid)) {
        for pid in left {
            signal_group(pid, libc::SIGHUP);
        }
    }
}

/// Every process of this PID namespace but ourselves.
fn tell_all(signal: i32) {
    // Outside a PID namespace of our own this would end the whole machine.
    if std::process::id() == 1 {
        // SAFETY: plain system call on numbers.
        unsafe { libc::kill(-1, signal) };
    }
}

/// Every process that we or our descendants started. As we adopt orphans, none of
/// them leaves this tree.
fn tell_descendants(house: &House, signal: i32) {
    let all = descendants(std::process::id());
    if all.is_empty() {
        // Where /proc is not mounted, at least those that we know.
        for group in house.children.leaders(false) {
            signal_group(group, signal);
        }
    }
    for pid in all {
        // SAFETY: plain system call on numbers; the number is above one.
        unsafe { libc::kill(pid, signal) };
    }
}

fn descendants(of: u32) -> Vec<i32> {
    let mut pairs = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let stat = std::fs::read(entry.path().join("stat")).unwrap_or_default();
        if let Some(parent) = parent(&stat) {
            pairs.push((pid, parent));
        }
    }
    let mut found = vec![of];
    let mut next = 0;
    while let Some(current) = found.get(next).copied() {
        found.extend(pairs.iter().filter(|(_, parent)| *parent == current).map(|(pid, _)| *pid));
        next += 1;
    }
    found.into_iter().skip(1).filter(|pid| *pid > 1).filter_map(|pid| i32::try_from(pid).ok()).collect()
}

/// The parent in the text of `/proc/PID/stat`. The name before it may contain
/// anything, also spaces and brackets.
fn parent(stat: &[u8]) -> Option<u32> {
    let after = stat.iter().rposition(|byte| *byte == b')')? + 1;
    std::str::from_utf8(&stat[after..]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Many streams need many descriptors. What we start gets the old limit back,
/// because some programs walk through all numbers up to it.
fn raise_open_files() -> Rlimit {
    let old = getrlimit(Resource::Nofile);
    let new = old.maximum.unwrap_or(1 << 20).min(1 << 20);
    if old.current.is_some_and(|current| current < new) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(new), maximum: old.maximum });
    }
    old
}

/// One heap for all threads: the default of one per thread costs far more memory
/// than the helper itself.
fn save_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: called before any other thread exists.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// The signals that the main thread takes one by one.
struct Signals(libc::sigset_t);

impl Signals {
    fn block() -> Self {
        // SAFETY: the set is made valid by sigemptyset before anything reads it.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT] {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            // Inherited as ignored, the kernel would collect children before we can.
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            Self(set)
        }
    }

    /// The next signal, or `None` when the time is over.
    fn wait(&self, timeout: Option<Duration>) -> Option<i32> {
        let limit = timeout.map(|time| libc::timespec {
            tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(time.subsec_nanos() as i32),
        });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: both pointers are valid for the call, or null where that is allowed.
        let signal = unsafe { libc::sigtimedwait(&raw const self.0, std::ptr::null_mut(), limit) };
        (signal > 0).then_some(signal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parent_is_found_behind_any_name() {
        assert_eq!(parent(b"7 (a) b) (c) S 42 7 7 0"), Some(42));
        for bad in [&b""[..], b"7 (a", b"7 (a) S", b"7 (a) S x", b"7 (a) \xff 3"] {
            assert_eq!(parent(bad), None);
        }
    }

    #[test]
    fn descendants_are_found_and_nobody_else() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let mut found = Vec::new();
        for _ in 0..500 {
            found = descendants(child.id());
            if !found.is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(found.len(), 1, "the sleeping child alone");
        assert!(descendants(std::process::id()).contains(&pid));
        assert!(!descendants(child.id()).contains(&pid));
        // SAFETY: a process that this test started.
        unsafe { libc::kill(found[0], libc::SIGKILL) };
        child.wait().unwrap();
    }
}
