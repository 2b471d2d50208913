//! The one place that starts and collects child processes.
//!
//! Whoever calls `waitpid(-1)` takes every status there is, also the ones that
//! another part of the program waits for. So only [`Children::reap`] calls it, and
//! hands the statuses to those who started the processes. One lock covers both
//! starting and collecting: a child that ends at once is never collected before it
//! is known.

use std::collections::HashMap;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use rustix::process::{WaitOptions, WaitStatus, wait};

/// All child processes that the helper itself started.
#[derive(Default)]
pub struct Children {
    table: Mutex<HashMap<i32, Known>>,
    closing: AtomicBool,
}

struct Known {
    status: Arc<OnceLock<i32>>,
    terminal: bool,
    // Dropped when the child ended, which the other end sees as a hang-up.
    _alive: PipeWriter,
}

/// One child, leader of its own session and process group.
pub struct Child {
    pid: i32,
    status: Arc<OnceLock<i32>>,
    alive: PipeReader,
}

/// Our ends of the pipes that a command was given.
pub struct Pipes {
    /// Its input.
    pub stdin: Option<ChildStdin>,
    /// Its output.
    pub stdout: Option<ChildStdout>,
    /// Its error output.
    pub stderr: Option<ChildStderr>,
}

/// Whether any child, own or adopted, is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Some still run.
    Some,
    /// None: as orphans are adopted, no descendant is left either.
    None,
    /// A start is under way, so nothing could be collected.
    Busy,
}

impl Children {
    /// Starts a command, which must make itself the leader of a new session;
    /// `terminal` says whether that session has one.
    ///
    /// # Errors
    /// What the system says; `Interrupted` once the instance is stopping.
    pub fn spawn(&self, command: &mut Command, terminal: bool) -> io::Result<(Child, Pipes)> {
        let mut table = self.lock();
        if self.closing.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let (alive, writer) = io::pipe()?;
        let mut started = command.spawn()?;
        let pid = i32::try_from(started.id()).map_err(io::Error::other)?;
        let status = Arc::new(OnceLock::new());
        table.insert(pid, Known { status: Arc::clone(&status), terminal, _alive: writer });
        let pipes = Pipes { stdin: started.stdin.take(), stdout: started.stdout.take(), stderr: started.stderr.take() };
        Ok((Child { pid, status, alive }, pipes))
    }

    /// No more starts from now on.
    pub fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
    }

    /// Collects every child that ended.
    pub fn reap(&self) -> Left {
        Self::collect(&mut self.lock())
    }

    /// As [`Children::reap`], but never waits for a start that hangs, for instance
    /// because the program lies on a dead network disk.
    pub fn try_reap(&self) -> Left {
        match self.table.try_lock() {
            Ok(mut table) => Self::collect(&mut table),
            Err(TryLockError::Poisoned(table)) => Self::collect(&mut table.into_inner()),
            Err(TryLockError::WouldBlock) => Left::Busy,
        }
    }

    /// Sends a signal to the process group that `child` leads. Nothing happens when
    /// the number already belongs to a later child.
    pub fn signal_group(&self, child: &Child, signal: i32) {
        let table = self.lock();
        let current = table.get(&child.pid).map(|known| &known.status);
        if current.is_none_or(|status| Arc::ptr_eq(status, &child.status)) {
            signal_group(child.pid, signal);
        }
    }

    /// The children that run, or only those with a terminal. Each leads a process
    /// group and session of its own. Empty while a start is under way.
    pub fn leaders(&self, only_terminals: bool) -> Vec<i32> {
        match self.table.try_lock() {
            Ok(table) => {
                table.iter().filter(|(_, known)| known.terminal || !only_terminals).map(|(pid, _)| *pid).collect()
            }
            Err(_) => Vec::new(),
        }
    }

    fn collect(table: &mut HashMap<i32, Known>) -> Left {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if let Some(known) = table.remove(&pid.as_raw_nonzero().get()) {
                        let _ = known.status.set(exit_code(status));
                    }
                }
                Ok(None) => return Left::Some,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Left::None,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i32, Known>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Child {
    /// Exit status once it ended: 128 + signal when a signal ended it.
    pub fn status(&self) -> Option<i32> {
        self.status.get().copied()
    }

    /// Its process number, which is also that of its group and session.
    pub fn pid(&self) -> i32 {
        self.pid
    }
}

/// Ready to read (hang-up) when the child has ended and its status is known.
impl AsFd for Child {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.alive.as_fd()
    }
}

/// Sends a signal to a process group other than our own.
pub fn signal_group(group: i32, signal: i32) {
    // Zero and minus one have a wider meaning to kill(2): "us" and "everybody".
    if group > 1 {
        // SAFETY: plain system call on numbers.
        unsafe { libc::kill(-group, signal) };
    }
}

/// Whether any process of the group is left.
pub fn group_exists(group: i32) -> bool {
    // SAFETY: signal 0 only asks whether the group exists.
    group > 1 && unsafe { libc::kill(-group, 0) == 0 }
}

fn exit_code(status: WaitStatus) -> i32 {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 255,
    }
}
