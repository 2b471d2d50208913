//! Talks to the helper inside an instance.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsRawFd;
use std::path::Path;

use base::{Cause, Error, Result};
use futures_util::{SinkExt, StreamExt};
use link::frame::FrameCodec;
use link::{Control, Frame, Open};
use rustix::fs::{CWD, FileType, Mode, OFlags, openat};
use tokio::net::UnixStream;
use tokio_util::codec::Framed;

/// What the helper saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// `major:minor` of every card's device node.
    pub devices: BTreeSet<String>,
    /// User id inside.
    pub uid: u32,
}

fn unreachable(context: impl std::fmt::Display) -> Error {
    Error::new(Cause::Unavailable, "the instance does not answer")
        .hint("its first process may just be starting or ending; try again")
        .context(context)
}

/// Opens one stream to the helper whose socket is in `run`.
///
/// The renter owns that folder, so what lies there is not trusted: a link is not
/// followed, and whoever listens must be the user `uid`. Otherwise a renter could
/// have the agent, which may open everything, connect him to any socket of the host.
///
/// # Errors
/// `unavailable` when nothing answers.
pub async fn connect(run: &Path, uid: Option<u32>) -> Result<UnixStream> {
    let socket = openat(CWD, run.join("guest.sock"), OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
        .map_err(unreachable)?;
    let stat = rustix::fs::fstat(&socket).map_err(unreachable)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
        return Err(unreachable("its socket is something else"));
    }
    // By descriptor: what was checked is what is connected to, however long its path.
    let path = format!("/proc/self/fd/{}", socket.as_raw_fd());
    let stream = UnixStream::connect(path).await.map_err(unreachable)?;
    let peer = stream.peer_cred().map_err(unreachable)?.uid();
    if uid.is_some_and(|uid| uid != peer) {
        return Err(unreachable(format!("user {peer} listens on its socket")));
    }
    Ok(stream)
}

async fn answer(stream: &mut Framed<UnixStream, FrameCodec>) -> Result<Control> {
    loop {
        match stream.next().await {
            Some(Ok(Frame::Control(Control::Error { message, .. }))) => {
                return Err(Error::new(Cause::EngineFailed, message));
            }
            Some(Ok(Frame::Control(control))) => return Ok(control),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(unreachable(error)),
            None => return Err(unreachable("the helper closed the stream")),
        }
    }
}

async fn open(stream: UnixStream, what: Open) -> Result<Framed<UnixStream, FrameCodec>> {
    let mut framed = Framed::new(stream, FrameCodec);
    framed.send(Frame::Control(Control::Open(what))).await.map_err(unreachable)?;
    Ok(framed)
}

/// Asks the helper what it sees.
///
/// # Errors
/// `unavailable` or `engine-failed` in the helper's words.
pub async fn look(stream: UnixStream) -> Result<Seen> {
    let mut framed = open(stream, Open::Look).await?;
    match answer(&mut framed).await? {
        Control::Seen { devices, uid, .. } => {
            // Path and number are told apart by their look, so either may be the key.
            let number = |(a, b): (String, String)| if a.starts_with('/') { b } else { a };
            Ok(Seen { devices: devices.into_iter().map(number).collect(), uid })
        }
        other => Err(unreachable(format!("unexpected answer: {other:?}"))),
    }
}

/// Runs a shell inside that does nothing, as the last proof of readiness.
///
/// # Errors
/// `engine-failed` when there is no shell or it fails.
pub async fn shell(stream: UnixStream) -> Result<()> {
    let argv = ["sh", "-c", "true"].map(str::to_owned).to_vec();
    let mut framed = open(stream, Open::Exec { argv, env: BTreeMap::new(), cwd: None, terminal: None }).await?;
    loop {
        match answer(&mut framed).await? {
            Control::Exit { code: 0 } => return Ok(()),
            Control::Exit { code } => {
                return Err(Error::new(Cause::EngineFailed, format!("the shell inside ended with status {code}")));
            }
            Control::Started => {}
            other => return Err(unreachable(format!("unexpected answer: {other:?}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::UnixListener;

    #[tokio::test]
    async fn a_socket_of_somebody_else_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let (run, elsewhere) = (dir.path().join("run"), dir.path().join("host.sock"));
        std::fs::create_dir(&run).unwrap();
        let _host = UnixListener::bind(&elsewhere).unwrap();
        let me = rustix::process::getuid().as_raw();

        std::os::unix::fs::symlink(&elsewhere, run.join("guest.sock")).unwrap();
        assert!(connect(&run, Some(me)).await.is_err(), "links are not followed");

        std::fs::remove_file(run.join("guest.sock")).unwrap();
        std::fs::hard_link(&elsewhere, run.join("guest.sock")).unwrap();
        let error = connect(&run, Some(me + 1)).await.unwrap_err();
        assert!(error.context_text().unwrap().contains("listens"), "{error}");
        assert!(connect(&run, Some(me)).await.is_ok());
    }
}
