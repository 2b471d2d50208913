//! A connection that is given up when its peer takes nothing for too long.
//!
//! What is sent to a peer waits in one bounded buffer; whoever makes it waits in
//! turn. So a reader who does not read costs one buffer, and only for this time.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::slots::Slot;
use crate::observed::{Counted, Limit};

/// Silence after which the system asks whether the peer is still there, and how often.
const ASK_AFTER: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_secs(15);
const ASK_TIMES: u32 = 4;

/// How long what was sent may stay without a receipt, milliseconds. Longer than a
/// laptop takes to change its network.
const NO_RECEIPT_MS: u32 = 120_000;

/// The socket; it holds its slot as long as it lives, also as a WebSocket.
pub(super) struct Socket {
    stream: TcpStream,
    patience: Duration,
    /// Since a write found no room: when patience ends.
    gives_up: Option<Pin<Box<Sleep>>>,
    gave_up: bool,
    counted: Counted,
    _slot: Slot,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, patience: Duration, slot: Slot, counted: Counted) -> Self {
        if let Err(error) = prepare(&stream) {
            tracing::debug!(%error, "a socket keeps the system's own settings");
        }
        Self { stream, patience, gives_up: None, gave_up: false, counted, _slot: slot }
    }

    fn wrote(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if polled.is_ready() {
            self.gives_up = None;
            return polled;
        }
        if self.gave_up {
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        let patience = self.patience;
        let gives_up = self.gives_up.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(gives_up.as_mut().poll(cx));
        self.gave_up = true;
        self.counted.limited(Limit::Stalled);
        Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, "the peer takes nothing")))
    }
}

/// A peer that vanished without a word is found out even where nothing is sent.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, ASK_AFTER)?;
    sockopt::set_tcp_keepintvl(stream, ASK_EVERY)?;
    sockopt::set_tcp_keepcnt(stream, ASK_TIMES)?;
    sockopt::set_tcp_user_timeout(stream, NO_RECEIPT_MS)?;
    Ok(())
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.wrote(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.wrote(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
