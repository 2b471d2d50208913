//! The life of one started command: input, output, signals, and its end.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use link::{Control, Frame};
use rustix::fs::OFlags;

use crate::failure::Failure;
use crate::house::House;
use crate::poll::Poll;
use crate::pty::Terminal;
use crate::reaper::{Child, Pipes, group_exists, signal_group};
use crate::wire::{BACKLOG_LIMIT, Wire};

/// Input that the command has not taken yet, bytes, before the caller must wait.
const INPUT_LIMIT: usize = 256 * 1024;
const READ_SIZE: usize = 32 * 1024;
/// How long after the command's end its output may be silent before it counts as done.
const SILENCE: Duration = Duration::from_secs(1);
/// How long after the command's end other holders of its output are listened to.
const AFTERMATH: Duration = Duration::from_secs(10);
/// From the polite to the forced end of a command whose caller went away.
const HANG_UP_GRACE: Duration = Duration::from_secs(2);
const END_OF_INPUT: u8 = 4;

#[derive(Clone, Copy)]
enum Channel {
    Stdout,
    Stderr,
}

struct Output {
    from: File,
    channel: Channel,
    /// Bytes that lay in it when the command ended, which are its own for certain.
    owed: u64,
}

/// A started command together with everything that connects it to its caller.
pub struct Session<'a> {
    house: &'a House,
    child: Child,
    terminal: Option<Terminal>,
    stdin: Option<File>,
    pending: Vec<u8>,
    taken: usize,
    input_ended: bool,
    outputs: Vec<Output>,
    buffer: Vec<u8>,
}

impl<'a> Session<'a> {
    /// Takes hold of a started command's terminal or pipes.
    ///
    /// # Errors
    /// The system cannot give what is needed; the command was ended.
    pub fn attach(house: &'a House, child: Child, terminal: Option<Terminal>, pipes: Pipes) -> Result<Self, Failure> {
        let mut session = Self {
            house,
            child,
            terminal,
            stdin: None,
            pending: Vec::new(),
            taken: 0,
            input_ended: false,
            outputs: Vec::new(),
            buffer: vec![0; READ_SIZE],
        };
        let attached = (|| {
            if let Some(terminal) = &session.terminal {
                session.stdin = Some(unblocked(terminal.handle()?)?);
                session.outputs.push(Output { from: terminal.handle()?, channel: Channel::Stdout, owed: 0 });
            }
            if let Some(pipe) = pipes.stdin {
                session.stdin = Some(unblocked(File::from(OwnedFd::from(pipe)))?);
            }
            let outputs = [
                (pipes.stdout.map(OwnedFd::from), Channel::Stdout),
                (pipes.stderr.map(OwnedFd::from), Channel::Stderr),
            ];
            for (pipe, channel) in outputs {
                if let Some(pipe) = pipe {
                    session.outputs.push(Output { from: unblocked(File::from(pipe))?, channel, owed: 0 });
                }
            }
            io::Result::Ok(())
        })();
        if let Err(error) = attached {
            session.abandon();
            return Err(Failure::system("attaching to the command", &error));
        }
        Ok(session)
    }

    /// Carries frames until the command and its output ended; returns its exit status.
    ///
    /// # Errors
    /// The stream broke the rules, or the caller went away; the command still runs.
    pub fn carry(&mut self, wire: &mut Wire) -> Result<i32, Failure> {
        let mut ended: Option<Instant> = None;
        let mut last_output = Instant::now();
        loop {
            while self.waiting() < INPUT_LIMIT {
                let Some(frame) = wire.next()? else { break };
                self.obey(frame)?;
            }
            let exited = self.child.status();
            if let (Some(_), None) = (exited, ended) {
                ended = Some(Instant::now());
                last_output = Instant::now();
                self.stdin = None;
                for output in &mut self.outputs {
                    output.owed = rustix::io::ioctl_fionread(&output.from).unwrap_or(0);
                }
            }
            let room = wire.backlog() < BACKLOG_LIMIT;
            let mut timeout = None;
            if let (Some(code), Some(since)) = (exited, ended) {
                // While the caller is slow, silence is ours and not the command's.
                let quiet = if room { SILENCE.saturating_sub(last_output.elapsed()) } else { SILENCE };
                let owed = self.outputs.iter().any(|output| output.owed > 0);
                let over = !owed && since.elapsed() >= AFTERMATH;
                if self.outputs.is_empty() || quiet.is_zero() || over {
                    return Ok(code);
                }
                timeout = Some(quiet);
            }

            let mut poll = Poll::default();
            let listen = self.waiting() < INPUT_LIMIT;
            let caller = poll.add(&*wire, listen, wire.backlog() > 0);
            if exited.is_none() {
                // Its end is noticed at the top of the next turn.
                poll.add(&self.child, true, false);
            }
            let input = match &self.stdin {
                Some(stdin) if self.waiting() > 0 => Some(poll.add(stdin, false, true)),
                _ => None,
            };
            let outputs: Vec<usize> = match room {
                true => self.outputs.iter().map(|output| poll.add(&output.from, true, false)).collect(),
                false => Vec::new(),
            };
            poll.wait(timeout).map_err(|error| Failure::system("waiting", &error))?;

            if listen && poll.ready(caller).to_read() {
                if !wire.fill() {
                    return Err(Failure::Gone);
                }
            } else if poll.ready(caller).hung_up() {
                return Err(Failure::Gone);
            }
            if input.is_some_and(|place| poll.ready(place).to_write()) {
                self.feed();
            }
            let ready: Vec<bool> = outputs.iter().map(|place| poll.ready(*place).to_read()).collect();
            if ready.contains(&true) {
                last_output = Instant::now();
                self.take_output(&ready, wire)?;
            }
            wire.flush()?;
        }
    }

    /// Input that the command has not taken yet, bytes.
    fn waiting(&self) -> usize {
        self.pending.len() - self.taken
    }

    fn obey(&mut self, frame: Frame) -> Result<(), Failure> {
        match frame {
            Frame::Stdin(data) if self.input_ended || self.stdin.is_none() => drop(data),
            Frame::Stdin(data) if data.is_empty() => {
                self.input_ended = true;
                // A terminal has no end of its own; this is the key that means it.
                if self.terminal.is_some() {
                    self.pending.push(END_OF_INPUT);
                }
                self.feed();
            }
            Frame::Stdin(data) => {
                self.pending.extend_from_slice(&data);
                self.feed();
            }
            Frame::Control(Control::Resize(size)) => {
                if let Some(terminal) = &self.terminal {
                    terminal.resize(size);
                }
            }
            Frame::Control(Control::Signal { number }) => {
                if !(1..=64).contains(&number) {
                    return Err(Failure::invalid(format!("there is no signal {number}")));
                }
                match self.terminal.as_ref().and_then(Terminal::foreground) {
                    Some(group) => signal_group(group, number),
                    None if self.child.status().is_none() => self.house.children.signal_group(&self.child, number),
                    None => {}
                }
            }
            _ => return Err(Failure::invalid("a frame came that a caller of a command never sends")),
        }
        Ok(())
    }

    /// Gives the command what it takes of its input without waiting.
    fn feed(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        let mut closed = false;
        while self.taken < self.pending.len() {
            match stdin.write(&self.pending[self.taken..]) {
                Ok(count) if count > 0 => self.taken += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // It closed its input; what still comes is thrown away, as a pipe would.
                _ => {
                    closed = true;
                    break;
                }
            }
        }
        if closed || self.taken == self.pending.len() {
            self.pending.clear();
            self.taken = 0;
            if closed || (self.input_ended && self.terminal.is_none()) {
                self.stdin = None;
            }
        } else if self.taken >= INPUT_LIMIT {
            self.pending.drain(..self.taken);
            self.taken = 0;
        }
    }

    fn take_output(&mut self, ready: &[bool], wire: &mut Wire) -> Result<(), Failure> {
        let mut open = Vec::with_capacity(self.outputs.len());
        for (mut output, ready) in self.outputs.drain(..).zip(ready) {
            if !ready {
                open.push(output);
                continue;
            }
            match output.from.read(&mut self.buffer) {
                Ok(0) => {}
                Ok(count) => {
                    let data = self.buffer[..count].to_vec();
                    wire.push(&match output.channel {
                        Channel::Stdout => Frame::Stdout(data),
                        Channel::Stderr => Frame::Stderr(data),
                    })?;
                    output.owed = output.owed.saturating_sub(count as u64);
                    open.push(output);
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    open.push(output);
                }
                // A terminal whose last user is gone says EIO instead of the end.
                Err(_) => {}
            }
        }
        self.outputs = open;
        Ok(())
    }

    /// Ends the command because nobody listens any more: hang-up, later kill.
    pub fn abandon(&mut self) {
        let foreground = self.terminal.as_ref().and_then(Terminal::foreground);
        self.stdin = None;
        self.outputs.clear();
        self.terminal = None;
        if self.child.status().is_some() {
            // It ended by itself; what it left running in the background may stay.
            return;
        }
        self.house.children.signal_group(&self.child, libc::SIGHUP);
        self.house.children.signal_group(&self.child, libc::SIGCONT);
        let others = foreground.filter(|group| *group != self.child.pid());
        let end = Instant::now() + HANG_UP_GRACE;
        while self.child.status().is_none() || group_exists(self.child.pid()) || others.is_some_and(group_exists) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.house.children.signal_group(&self.child, libc::SIGKILL);
                if let Some(group) = others {
                    signal_group(group, libc::SIGKILL);
                }
                return;
            }
            if self.child.status().is_none() {
                let mut poll = Poll::default();
                poll.add(&self.child, true, false);
                let _ = poll.wait(Some(left));
            } else {
                // Others of the group outlive its leader; no event tells of their end.
                std::thread::sleep(left.min(Duration::from_millis(50)));
            }
        }
    }
}

fn unblocked(file: File) -> io::Result<File> {
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags | OFlags::NONBLOCK)?;
    Ok(file)
}
