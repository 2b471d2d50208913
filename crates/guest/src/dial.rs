//! Connections to ports on the instance's own loopback.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use link::{Control, Frame};

use crate::failure::{Failure, cause};
use crate::poll::Poll;
use crate::wire::{BACKLOG_LIMIT, Wire};

/// Bytes that the program has not taken yet before the caller must wait.
const INPUT_LIMIT: usize = 256 * 1024;
const READ_SIZE: usize = 64 * 1024;
/// A full queue of a stuck program swallows connection attempts silently.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Connects and carries bytes until both directions ended.
///
/// # Errors
/// Refused when nothing listens or the program reset the connection; gone when the
/// caller went away.
pub fn run(wire: &mut Wire, port: u16) -> Result<(), Failure> {
    let remote = connect(port)?;
    let prepared = remote.set_nonblocking(true).and_then(|()| remote.set_nodelay(true));
    prepared.map_err(|error| Failure::system("connecting", &error))?;
    wire.push(&Frame::Control(Control::Started))?;
    Connection { remote, pending: Vec::new(), taken: 0, sending: Sending::Open, receiving: true }.carry(wire)
}

fn connect(port: u16) -> Result<TcpStream, Failure> {
    if port == 0 {
        return Err(Failure::invalid("0 is not a port"));
    }
    let addresses = [SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SocketAddr::from((Ipv6Addr::LOCALHOST, port))];
    let mut slow = false;
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
            Ok(remote) => return Ok(remote),
            Err(error) => slow |= error.kind() == io::ErrorKind::TimedOut,
        }
    }
    Err(Failure::Refused(
        cause::UNAVAILABLE,
        match slow {
            true => format!("the program that listens on port {port} inside the instance does not accept connections"),
            false => format!("nothing listens on port {port} inside the instance yet"),
        },
    ))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sending {
    /// The caller may still send.
    Open,
    /// The caller has ended; what waits still goes out.
    Ending,
    /// Nothing more goes out.
    Closed,
}

struct Connection {
    remote: TcpStream,
    pending: Vec<u8>,
    taken: usize,
    sending: Sending,
    receiving: bool,
}

impl Connection {
    fn carry(&mut self, wire: &mut Wire) -> Result<(), Failure> {
        let mut buffer = vec![0; READ_SIZE];
        loop {
            while self.waiting() < INPUT_LIMIT {
                let Some(frame) = wire.next()? else { break };
                self.obey(frame)?;
            }
            self.feed();
            if self.sending == Sending::Closed && !self.receiving {
                return Ok(());
            }

            let mut poll = Poll::default();
            let listen = self.waiting() < INPUT_LIMIT;
            let caller = poll.add(&*wire, listen, wire.backlog() > 0);
            let read = self.receiving && wire.backlog() < BACKLOG_LIMIT;
            let write = self.waiting() > 0;
            // Left out when nothing is wanted of it: its hang-up would be reported for ever.
            let remote = (read || write).then(|| poll.add(&self.remote, read, write));
            poll.wait(None).map_err(|error| Failure::system("waiting", &error))?;

            if listen && poll.ready(caller).to_read() {
                if !wire.fill() {
                    return Err(Failure::Gone);
                }
            } else if poll.ready(caller).hung_up() {
                return Err(Failure::Gone);
            }
            if read && remote.is_some_and(|place| poll.ready(place).to_read()) {
                self.take(&mut buffer, wire)?;
            }
            wire.flush()?;
        }
    }

    fn waiting(&self) -> usize {
        self.pending.len() - self.taken
    }

    fn obey(&mut self, frame: Frame) -> Result<(), Failure> {
        match frame {
            Frame::Stdin(data) if data.is_empty() => {
                if self.sending == Sending::Open {
                    self.sending = Sending::Ending;
                }
            }
            Frame::Stdin(data) => {
                if self.sending == Sending::Open {
                    self.pending.extend_from_slice(&data);
                }
            }
            _ => return Err(Failure::invalid("a frame came that a caller of a connection never sends")),
        }
        Ok(())
    }

    /// Gives the program what it takes without waiting.
    fn feed(&mut self) {
        while self.taken < self.pending.len() {
            match self.remote.write(&self.pending[self.taken..]) {
                Ok(count) if count > 0 => self.taken += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.taken >= INPUT_LIMIT {
                        self.pending.drain(..self.taken);
                        self.taken = 0;
                    }
                    return;
                }
                // It takes nothing more; it may still have something to say.
                _ => {
                    self.sending = Sending::Closed;
                    break;
                }
            }
        }
        self.pending.clear();
        self.taken = 0;
        if self.sending == Sending::Ending {
            let _ = self.remote.shutdown(Shutdown::Write);
            self.sending = Sending::Closed;
        }
    }

    fn take(&mut self, buffer: &mut [u8], wire: &mut Wire) -> Result<(), Failure> {
        match self.remote.read(buffer) {
            Ok(0) => {
                self.receiving = false;
                wire.push(&Frame::Stdout(Vec::new()))
            }
            Ok(count) => wire.push(&Frame::Stdout(buffer[..count].to_vec())),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(()),
            Err(_) => Err(Failure::Refused(
                cause::UNAVAILABLE,
                "the program inside the instance broke the connection off".into(),
            )),
        }
    }
}
