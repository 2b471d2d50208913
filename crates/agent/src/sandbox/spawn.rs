//! Starts the first program of an instance in the right groups, network and user,
//! so that it outlives the agent.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, Command};

/// Places that every distribution has and nobody needs while an instance starts;
/// the agent's folder is shown there, because the way to it may be closed to the
/// instance's user.
const PLACES: [&str; 3] = ["/mnt", "/media", "/srv"];

/// Most open files of one process inside.
const OPEN_FILES: libc::rlim_t = 65_536;

/// How the program is to be started.
#[derive(Debug, Default)]
pub struct Entry {
    /// Host user and group to become.
    pub user: Option<u32>,
    /// Control groups to enter.
    pub groups: Vec<File>,
    /// Network namespace to enter.
    pub network: Option<File>,
    /// Folder to show at [`place`], in a mount namespace of its own.
    pub shown: Option<CString>,
    /// Descriptors to pass on.
    pub passed: Vec<OwnedFd>,
    /// Most processes of the user, where no control group limits them.
    pub processes: Option<u64>,
}

/// Where the agent's folder shows for the program.
///
/// # Errors
/// When the host has none of the usual empty folders.
pub fn place() -> io::Result<&'static Path> {
    PLACES.iter().map(Path::new).find(|p| p.is_dir()).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("the host has none of the folders {}", PLACES.join(", ")))
    })
}

/// A path for [`Entry::shown`].
///
/// # Errors
/// A path with a zero byte.
pub fn shown(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

/// Starts `program`. It gets no input, and its output goes to `log`.
///
/// # Errors
/// What the kernel refused; then nothing runs.
pub fn spawn(
    program: &Path,
    arguments: &[String],
    env: &BTreeMap<String, String>,
    log: &File,
    entry: Entry,
) -> io::Result<Child> {
    let target = CString::new(place()?.as_os_str().as_bytes()).map_err(io::Error::other)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(env)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log.try_clone()?)
        .kill_on_drop(false);
    // SAFETY: between fork and exec the closure only makes system calls on values
    // that were prepared before; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(move || enter(&entry, &target)) };
    command.spawn()
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn limit(what: libc::__rlimit_resource_t, soft: libc::rlim_t, hard: libc::rlim_t) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: the pointer is valid for the call.
    check(unsafe { libc::setrlimit(what, &raw const limit) })
}

/// The most that this process may give without the right to more.
fn lift(what: libc::__rlimit_resource_t) -> io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is valid for the call.
    check(unsafe { libc::getrlimit(what, &raw mut now) })?;
    limit(what, now.rlim_max, now.rlim_max)
}

/// Runs in the child, between fork and exec.
fn enter(entry: &Entry, target: &CStr) -> io::Result<()> {
    // SAFETY: plain system calls on valid descriptors and strings, all prepared
    // before the fork; none of them touches memory of the parent.
    unsafe {
        check(libc::setsid())?;
        for group in &entry.groups {
            if libc::write(group.as_raw_fd(), c"0".as_ptr().cast(), 1) != 1 {
                return Err(io::Error::last_os_error());
            }
        }
        // The agent may be protected from the kernel's killer; a renter is not.
        let score = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if score != -1 {
            libc::write(score, c"0".as_ptr().cast(), 1);
            libc::close(score);
        }
        if let Some(network) = &entry.network {
            check(libc::setns(network.as_raw_fd(), libc::CLONE_NEWNET))?;
        }
        if let Some(folder) = &entry.shown {
            check(libc::unshare(libc::CLONE_NEWNS))?;
            let none = std::ptr::null();
            check(libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_SLAVE, none.cast()))?;
            check(libc::mount(folder.as_ptr(), target.as_ptr(), none, libc::MS_BIND, none.cast()))?;
        }
        libc::umask(0o022);
    }
    if entry.user.is_some() {
        limit(libc::RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES).or_else(|_| lift(libc::RLIMIT_NOFILE))?;
        // Drivers pin memory for transfers; the group's limit still holds.
        limit(libc::RLIMIT_MEMLOCK, libc::RLIM_INFINITY, libc::RLIM_INFINITY).or_else(ignore)?;
        if let Some(processes) = entry.processes {
            limit(libc::RLIMIT_NPROC, processes, processes)?;
        }
    }
    limit(libc::RLIMIT_CORE, 0, 0)?;
    if let Some(user) = entry.user {
        // SAFETY: as above; no supplementary groups are read with a length of zero.
        unsafe {
            check(libc::setgroups(0, std::ptr::null()))?;
            check(libc::setresgid(user, user, user))?;
            check(libc::setresuid(user, user, user))?;
        }
    }
    close_all();
    entry.passed.iter().try_for_each(|fd| keep(fd.as_raw_fd()))
}

/// Marks every descriptor beyond the standard ones to be closed. The agent's lock is
/// open for its commands, and whoever started the agent may have left others.
fn close_all() {
    // SAFETY: changes flags of descriptors only, and those of this process alone.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) == -1 {
            // Kernels before 5.11: the lock was among the first to be opened.
            for fd in 3..4_096 {
                libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
    }
}

/// A limit that cannot be raised is no reason not to start.
fn ignore(_: io::Error) -> io::Result<()> {
    Ok(())
}

fn keep(fd: RawFd) -> io::Result<()> {
    // SAFETY: changes one flag of a descriptor that this process owns.
    check(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) })
}
