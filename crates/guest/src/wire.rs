//! The caller's end of a stream: frames in, frames out, with bounded buffers.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use link::{Control, Frame};

use crate::failure::Failure;
use crate::poll::Poll;

/// Output is produced only while less than this waits for the caller, bytes.
pub const BACKLOG_LIMIT: usize = 128 * 1024;

const READ_SIZE: usize = 64 * 1024;
const LINGER_SILENCE: Duration = Duration::from_secs(2);
const LINGER_TOTAL: Duration = Duration::from_secs(20);

/// One accepted connection.
pub struct Wire {
    socket: UnixStream,
    input: Vec<u8>,
    taken: usize,
    output: Vec<u8>,
    sent: usize,
}

impl Wire {
    /// Takes over an accepted connection.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, input: Vec::new(), taken: 0, output: Vec::new(), sent: 0 })
    }

    /// Bytes that wait for the caller.
    pub fn backlog(&self) -> usize {
        self.output.len() - self.sent
    }

    /// The next frame that has already arrived whole.
    ///
    /// # Errors
    /// Refused when the bytes are no frames.
    pub fn next(&mut self) -> Result<Option<Frame>, Failure> {
        match Frame::decode(&self.input[self.taken..]) {
            Ok(Some((frame, taken))) => {
                self.taken += taken;
                Ok(Some(frame))
            }
            Ok(None) => Ok(None),
            Err(why) => Err(Failure::invalid(format!("the stream cannot be understood: {why}"))),
        }
    }

    /// Reads what has arrived. `false` when the caller closed its end.
    pub fn fill(&mut self) -> bool {
        self.input.drain(..self.taken);
        self.taken = 0;
        let old = self.input.len();
        self.input.resize(old + READ_SIZE, 0);
        let result = self.socket.read(&mut self.input[old..]);
        self.input.truncate(old + *result.as_ref().unwrap_or(&0));
        match result {
            Ok(0) => false,
            Ok(_) => true,
            Err(error) => matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        }
    }

    /// Queues a frame for the caller.
    ///
    /// # Errors
    /// A payload that no frame can carry.
    pub fn push(&mut self, frame: &Frame) -> Result<(), Failure> {
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
        }
        frame.encode(&mut self.output).map_err(|error| Failure::system("answering", &error))
    }

    /// Writes what the caller takes without waiting.
    ///
    /// # Errors
    /// The caller is gone.
    pub fn flush(&mut self) -> Result<(), Failure> {
        while self.sent < self.output.len() {
            match self.socket.write(&self.output[self.sent..]) {
                Ok(0) => return Err(Failure::Gone),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.sent >= BACKLOG_LIMIT {
                        self.output.drain(..self.sent);
                        self.sent = 0;
                    }
                    return Ok(());
                }
                Err(_) => return Err(Failure::Gone),
            }
        }
        Ok(())
    }

    /// Waits for the next frame; `None` when the caller closed its end.
    ///
    /// # Errors
    /// Refused when the bytes are no frames.
    pub fn receive(&mut self) -> Result<Option<Frame>, Failure> {
        loop {
            if let Some(frame) = self.next()? {
                return Ok(Some(frame));
            }
            self.wait(true, false, None)?;
            if !self.fill() {
                return Ok(None);
            }
        }
    }

    /// Sends a frame and waits until the caller's side has taken it.
    ///
    /// # Errors
    /// The caller is gone.
    pub fn send(&mut self, frame: &Frame) -> Result<(), Failure> {
        self.push(frame)?;
        self.flush()?;
        while self.backlog() > 0 {
            self.wait(false, true, None)?;
            self.flush()?;
        }
        Ok(())
    }

    /// Sends the last frame and closes the sending side.
    pub fn finish(&mut self, last: Control) {
        // A caller that is gone needs no last word.
        let _ = self.send(&Frame::Control(last));
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Throws away what still comes until the caller closes: closing a socket with
    /// unread data would make the caller's next write fail before it read the answer.
    pub fn linger(&mut self) {
        let end = Instant::now() + LINGER_TOTAL;
        self.output = Vec::new();
        loop {
            let left = end.saturating_duration_since(Instant::now()).min(LINGER_SILENCE);
            self.input.clear();
            self.taken = 0;
            match self.wait(true, false, Some(left)) {
                Ok(true) if self.fill() => {}
                _ => return,
            }
        }
    }

    /// Waits for the socket; `false` when the time is over.
    fn wait(&self, read: bool, write: bool, timeout: Option<Duration>) -> Result<bool, Failure> {
        let mut poll = Poll::default();
        let place = poll.add(&self.socket, read, write);
        poll.wait(timeout).map_err(|error| Failure::system("waiting", &error))?;
        Ok(poll.ready(place).to_read() || poll.ready(place).to_write())
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
