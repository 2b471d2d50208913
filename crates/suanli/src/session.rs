//! A command or terminal in an instance, tied to this program's own input and output.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use base::{Cause, Error, Result};
use client::{Receiver, Sender, Stream, refused};
use link::{Control, Frame};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::terminal::{self, Mode};

const READ_SIZE: usize = 32 * 1024;
/// Frames that wait for the network: enough to keep it busy, few enough to stop a fast reader.
const WAITING: usize = 8;
const GOODBYE: Duration = Duration::from_millis(200);

/// How a stream is tied to this program.
#[derive(Clone, Copy, Debug)]
pub struct Tie {
    /// The other side has a PTY: this side's terminal passes everything through.
    pub terminal: bool,
    /// Standard input goes to the command; otherwise it gets an empty one.
    pub input: bool,
    /// Signals go to the command; otherwise whoever called takes care of them.
    pub signals: bool,
}

/// Passes input, output, signals and window sizes until the command ends.
/// Returns its exit status.
///
/// # Errors
/// Why the command could not be started, or `unavailable` when the stream broke.
pub async fn tie(stream: Stream, how: Tie) -> Result<u8> {
    let (sender, receiver) = stream.split();
    let (input, waiting_input) = mpsc::channel(WAITING);
    let (orders, waiting_orders) = mpsc::unbounded_channel();
    let (quit, quits) = mpsc::channel(1);
    let sending = tokio::spawn(send_all(sender, waiting_input, waiting_orders));
    let mode = how.terminal.then(Mode::raw).transpose()?;
    if how.input {
        read_input(input, how.terminal.then(|| (Escape::default(), quit)))?;
    } else {
        // The receiver is alive: it belongs to the task just started.
        drop(input.send(Frame::Stdin(Vec::new())).await);
        drop((input, quit));
    }
    let end = receive_all(receiver, how, orders, quits).await;
    drop(mode);
    // An orderly goodbye, unless input is stuck on its way.
    let stop = sending.abort_handle();
    if tokio::time::timeout(GOODBYE, sending).await.is_err() {
        stop.abort();
    }
    end
}

async fn send_all(mut sender: Sender, mut input: mpsc::Receiver<Frame>, mut orders: mpsc::UnboundedReceiver<Control>) {
    loop {
        let frame = tokio::select! {
            biased;
            order = orders.recv() => match order {
                Some(order) => Frame::Control(order),
                None => break,
            },
            Some(frame) = input.recv() => frame,
        };
        // What the other side said before it went may still be there to be read;
        // closing now would get in the way of that.
        if sender.send(frame).await.is_err() {
            return;
        }
    }
    sender.close().await;
}

fn read_input(to: mpsc::Sender<Frame>, escape: Option<(Escape, mpsc::Sender<()>)>) -> Result<()> {
    let own = std::io::stdin().as_fd().try_clone_to_owned();
    let mut from =
        File::from(own.map_err(|e| Error::new(Cause::InvalidRequest, "standard input is closed").context(e))?);
    let mut escape = escape;
    // A thread of its own, because a read of a terminal cannot be cancelled;
    // it ends with the program.
    std::thread::spawn(move || {
        let mut buffer = vec![0; READ_SIZE];
        loop {
            let count = match from.read(&mut buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Ok(count) => count,
                Err(_) => 0,
            };
            let mut data = buffer[..count].to_vec();
            if let Some((escape, quit)) = &mut escape {
                let (kept, left) = escape.filter(&data);
                if left {
                    let _ = quit.blocking_send(());
                    return;
                }
                // An empty frame would mean the end of the input.
                if kept.is_empty() && count > 0 {
                    continue;
                }
                data = kept;
            }
            if to.blocking_send(Frame::Stdin(data)).is_err() || count == 0 {
                return;
            }
        }
    });
    Ok(())
}

async fn receive_all(
    mut receiver: Receiver,
    how: Tie,
    orders: mpsc::UnboundedSender<Control>,
    mut quits: mpsc::Receiver<()>,
) -> Result<u8> {
    let mut signals = Signals::listen(how)?;
    let mut interrupted = false;
    loop {
        let frame = tokio::select! {
            frame = receiver.recv() => frame?,
            signal = signals.next() => {
                match signal {
                    Caught::Resized => drop(orders.send(Control::Resize(terminal::size()))),
                    Caught::End(number) if how.terminal || interrupted => return Ok(128 + number),
                    Caught::End(number) => {
                        // The second one means that the command does not listen.
                        interrupted = true;
                        drop(orders.send(Control::Signal { number: i32::from(number) }));
                    }
                }
                continue;
            }
            Some(()) = quits.recv() => {
                crate::output::write_note("\r\nleft; what runs on the terminal there was told to hang up\r\n");
                return Ok(255);
            }
        };
        let written = match frame {
            Some(Frame::Stdout(data)) => write_through(&mut std::io::stdout().lock(), &data),
            Some(Frame::Stderr(data)) => write_through(&mut std::io::stderr().lock(), &data),
            Some(Frame::Control(Control::Exit { code })) => return Ok(exit_status(code)),
            Some(Frame::Control(Control::Error { cause, message })) => return Err(refused(&cause, message)),
            Some(Frame::Control(_) | Frame::Stdin(_)) => Ok(()),
            None => {
                return Err(Error::new(Cause::Unavailable, "the stream ended before the command did")
                    .hint("the instance may have stopped: `suanli why` tells"));
            }
        };
        if written.is_err() {
            // Whoever read the output is gone; so a shell names a broken pipe.
            return Ok(141);
        }
    }
}

fn write_through(out: &mut impl Write, data: &[u8]) -> std::io::Result<()> {
    out.write_all(data).and_then(|()| out.flush())
}

/// An exit status as a program can have it.
pub fn exit_status(code: i32) -> u8 {
    u8::try_from(code & 0xff).unwrap_or(255)
}

enum Caught {
    Resized,
    End(u8),
}

struct Signals {
    window: Option<Signal>,
    ends: Vec<(u8, Signal)>,
}

impl Signals {
    fn listen(how: Tie) -> Result<Self> {
        let failed = |e: std::io::Error| Error::new(Cause::Internal, "signals cannot be received").context(e);
        let window = how.terminal.then(|| signal(SignalKind::window_change())).transpose().map_err(failed)?;
        let kinds = [(1, SignalKind::hangup()), (2, SignalKind::interrupt()), (15, SignalKind::terminate())];
        let mut ends = Vec::new();
        for (number, kind) in kinds.into_iter().filter(|_| how.signals) {
            ends.push((number, signal(kind).map_err(failed)?));
        }
        Ok(Self { window, ends })
    }

    async fn next(&mut self) -> Caught {
        let window = self.window.as_mut();
        let resized = async move {
            if let Some(window) = window
                && window.recv().await.is_some()
            {
                return Caught::Resized;
            }
            std::future::pending().await
        };
        let ends = self.ends.iter_mut().map(|(number, signal)| {
            let number = *number;
            Box::pin(async move {
                match signal.recv().await {
                    Some(()) => Caught::End(number),
                    None => std::future::pending().await,
                }
            })
        });
        let ends: Vec<_> = ends.collect();
        let ended = async move {
            if ends.is_empty() { std::future::pending().await } else { futures_util::future::select_all(ends).await.0 }
        };
        tokio::select! {
            caught = resized => caught,
            caught = ended => caught,
        }
    }
}

/// Finds `~.` at the beginning of a line: the way out of a terminal whose other
/// side does not answer any more. `~~` sends one `~`.
#[derive(Debug, Default)]
struct Escape(Place);

#[derive(Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    LineStart,
    Tilde,
    Inside,
}

impl Escape {
    /// What is to be sent, and whether the user wants to leave.
    fn filter(&mut self, typed: &[u8]) -> (Vec<u8>, bool) {
        let mut sent = Vec::with_capacity(typed.len());
        for &byte in typed {
            match (&self.0, byte) {
                (Place::Tilde, b'.') => return (sent, true),
                (Place::LineStart, b'~') => {
                    self.0 = Place::Tilde;
                    continue;
                }
                (Place::Tilde, b'~') => {}
                (Place::Tilde, _) => sent.push(b'~'),
                _ => {}
            }
            sent.push(byte);
            self.0 = if matches!(byte, b'\r' | b'\n') { Place::LineStart } else { Place::Inside };
        }
        (sent, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pieces: &[&str]) -> (String, bool) {
        let mut escape = Escape::default();
        let mut all = Vec::new();
        for piece in pieces {
            let (sent, left) = escape.filter(piece.as_bytes());
            all.extend(sent);
            if left {
                return (String::from_utf8(all).unwrap(), true);
            }
        }
        (String::from_utf8(all).unwrap(), false)
    }

    #[test]
    fn tilde_dot_leaves_only_at_the_beginning_of_a_line() {
        assert_eq!(typed(&["~."]), (String::new(), true));
        assert_eq!(typed(&["ls\r~", "."]), ("ls\r".into(), true));
        assert_eq!(typed(&["cd ~.\r"]), ("cd ~.\r".into(), false));
        assert_eq!(typed(&["~~.x"]), ("~.x".into(), false));
        assert_eq!(typed(&["~/bin\r"]), ("~/bin\r".into(), false));
    }

    #[test]
    fn exit_statuses_fit_a_byte() {
        assert_eq!(exit_status(3), 3);
        assert_eq!(exit_status(130), 130);
        assert_eq!(exit_status(-1), 255);
        assert_eq!(exit_status(256), 0);
    }
}
