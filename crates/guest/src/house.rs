//! What all streams of one helper share.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::reaper::Children;
use crate::surroundings::Surroundings;

/// What all streams of one helper share.
pub struct House {
    /// Every process that the helper started.
    pub children: Children,
    /// Environment of new processes.
    pub surroundings: Surroundings,
    /// Exit status of the on-start command, once it ended.
    pub on_start_exit: OnceLock<i32>,
    /// Soft limit of open files for new processes; the helper's own is higher.
    pub open_files: rustix::process::Rlimit,
    commands: Mutex<usize>,
    none_left: Condvar,
    log: Option<File>,
    since: Instant,
}

/// Counts one command whose end somebody waits for, until dropped.
pub struct Command<'a>(&'a House);

impl House {
    /// Shared state of a helper that writes its own messages to `log`, or to
    /// standard error.
    ///
    /// # Errors
    /// The log cannot be opened.
    pub fn new(
        surroundings: Surroundings,
        open_files: rustix::process::Rlimit,
        log: Option<&Path>,
    ) -> std::io::Result<Self> {
        Ok(Self {
            children: Children::default(),
            surroundings,
            on_start_exit: OnceLock::new(),
            open_files,
            commands: Mutex::new(0),
            none_left: Condvar::new(),
            log: log.map(|path| OpenOptions::new().append(true).create(true).open(path)).transpose()?,
            since: Instant::now(),
        })
    }

    /// Writes one line of the helper's own log. A full disk loses it silently.
    pub fn log(&self, line: impl fmt::Display) {
        let line = format!("[{:9.3}] {line}\n", self.since.elapsed().as_secs_f64());
        let mut file = self.log.as_ref();
        let _ = match &mut file {
            Some(file) => file.write_all(line.as_bytes()),
            None => std::io::stderr().write_all(line.as_bytes()),
        };
    }

    /// Counts a command until the returned guard is dropped.
    pub fn command(&self) -> Command<'_> {
        *self.commands.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Command(self)
    }

    /// Waits until every command's end was told, but no longer than `limit`.
    pub fn wait_for_commands(&self, limit: Duration) {
        let count = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.none_left.wait_timeout_while(count, limit, |count| *count > 0));
    }
}

impl Drop for Command<'_> {
    fn drop(&mut self) {
        let mut count = self.0.commands.lock().unwrap_or_else(PoisonError::into_inner);
        *count -= 1;
        if *count == 0 {
            self.0.none_left.notify_all();
        }
    }
}
