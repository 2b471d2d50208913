//! How far a transfer is, on a terminal.

use std::time::{Duration, Instant};

use crate::output::{bytes, stderr_is_terminal, write_note};

const REDRAW: Duration = Duration::from_millis(200);

/// Counts what is carried and redraws one line now and then.
pub struct Progress {
    shown: bool,
    name: String,
    total: Option<u64>,
    done: u64,
    begun: Instant,
    drawn: Option<Instant>,
}

impl Progress {
    /// For a transfer called `name`; nothing is drawn where standard error is not a terminal.
    pub fn new(name: &str) -> Self {
        let name = crate::output::clean(name);
        Self { shown: stderr_is_terminal(), name, total: None, done: 0, begun: Instant::now(), drawn: None }
    }

    /// How many bytes there are in all, once that is known.
    pub fn total(&mut self, bytes: u64) {
        self.total = Some(bytes);
    }

    /// So many more bytes are carried.
    pub fn add(&mut self, count: u64) {
        self.done += count;
        if self.shown && self.drawn.is_none_or(|at| at.elapsed() >= REDRAW) {
            self.drawn = Some(Instant::now());
            write_note(&format!("\r{}\x1b[K", self.line()));
        }
    }

    /// How many bytes were carried.
    pub fn done(&self) -> u64 {
        self.done
    }

    fn line(&self) -> String {
        let millis = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        let rate = bytes(self.done.saturating_mul(1000) / millis);
        match self.total.filter(|total| *total > 0) {
            Some(total) => {
                let percent = self.done.saturating_mul(100) / total;
                format!("{}  {percent} %  {} of {}  {rate}/s", self.name, bytes(self.done), bytes(total))
            }
            None => format!("{}  {}  {rate}/s", self.name, bytes(self.done)),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            write_note("\r\x1b[K");
        }
    }
}
