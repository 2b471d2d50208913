//! Waiting for several descriptors at once.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// One wait for any of several descriptors.
#[derive(Default)]
pub struct Poll {
    list: Vec<libc::pollfd>,
}

/// What happened on one descriptor.
#[derive(Clone, Copy, Default)]
pub struct Ready(i16);

impl Ready {
    /// A read would not block: there is data, the end, or an error to collect.
    pub fn to_read(self) -> bool {
        self.0 & (libc::POLLIN | libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
    }

    /// A write would not block, even if only because it fails.
    pub fn to_write(self) -> bool {
        self.0 & (libc::POLLOUT | libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
    }

    /// The other side is gone altogether.
    pub fn hung_up(self) -> bool {
        self.0 & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
    }
}

impl Poll {
    /// Adds a descriptor and says at which place its answer will be. With neither
    /// direction wanted only a hang-up is reported.
    pub fn add(&mut self, fd: impl AsFd, read: bool, write: bool) -> usize {
        let events = if read { libc::POLLIN } else { 0 } | if write { libc::POLLOUT } else { 0 };
        self.list.push(libc::pollfd { fd: fd.as_fd().as_raw_fd(), events, revents: 0 });
        self.list.len() - 1
    }

    /// Waits until something happens or the time is over (`None`: as long as it takes).
    ///
    /// # Errors
    /// What the system says; an interruption is not an error.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        // Rounded up: a wait of 0.4 ms must not become a busy loop of zero waits.
        let millis = timeout.map_or(-1, |time| i32::try_from(time.as_micros().div_ceil(1000)).unwrap_or(i32::MAX));
        let count = self.list.len() as libc::nfds_t;
        // SAFETY: the pointer and the count describe one live, writable slice.
        let rc = unsafe { libc::poll(self.list.as_mut_ptr(), count, millis) };
        if rc >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::Interrupted {
            for entry in &mut self.list {
                entry.revents = 0;
            }
            return Ok(());
        }
        Err(error)
    }

    /// What happened at a place that [`Poll::add`] gave.
    pub fn ready(&self, place: usize) -> Ready {
        self.list.get(place).map_or(Ready::default(), |entry| Ready(entry.revents))
    }
}
