//! Files and folders to and from an instance, as tar archives over a stream.

mod pack;
mod progress;
mod unpack;

use std::path::Path;

use base::{Cause, Error, Result};
use client::{Client, Stream, refused};
use link::{Control, Frame, Open};
use tokio::sync::mpsc;

pub use progress::Progress;
pub use unpack::Target;

/// Frames between the archive's thread and the network.
const WAITING: usize = 16;

/// What was carried over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Files.
    pub files: u64,
    /// Bytes of their contents.
    pub bytes: u64,
}

/// Sends `source` (a file or folder) into the folder `below` of an instance,
/// where it is called `name`.
///
/// # Errors
/// What cannot be read here, or why the other side did not take it.
pub async fn put(
    client: &Client,
    reference: &str,
    source: &Path,
    below: &str,
    name: &str,
    progress: Progress,
) -> Result<Carried> {
    let mut stream = client.stream(reference, Open::Put { path: below.to_owned() }).await?;
    stream.started().await?;
    let (mut sender, mut receiver) = stream.split();
    let (pieces, mut waiting) = mpsc::channel::<Vec<u8>>(WAITING);
    let (source, name) = (source.to_owned(), name.to_owned());
    let packing = tokio::task::spawn_blocking(move || pack::pack(&source, &name, pieces, progress));
    let sending = async {
        while let Some(piece) = waiting.recv().await {
            sender.stdin(&piece).await?;
        }
        let carried = packing.await.map_err(broken)??;
        sender.end_of_input().await?;
        Ok::<_, Error>(carried)
    };
    let answer = async {
        loop {
            match receiver.recv().await? {
                Some(Frame::Control(Control::Exit { code: 0 })) => return Ok(()),
                Some(Frame::Control(Control::Exit { code })) => return Err(ended(code)),
                Some(Frame::Control(Control::Error { cause, message })) => return Err(refused(&cause, message)),
                Some(_) => {}
                None => return Err(cut_off()),
            }
        }
    };
    // The answer may be a refusal long before everything is sent.
    tokio::pin!(answer);
    let carried = tokio::select! {
        early = &mut answer => {
            return early.and_then(|()| Err(cut_off()));
        }
        sent = sending => sent,
    };
    match carried {
        Ok(carried) => answer.await.map(|()| carried),
        // A refusal explains a connection that closed under the sender.
        Err(error) if error.cause() == Cause::Unavailable => answer.await.and(Err(error)),
        Err(error) => Err(error),
    }
}

/// Fetches `path` of an instance to `target`.
///
/// # Errors
/// Why the other side did not send it, or what cannot be written here.
pub async fn get(client: &Client, reference: &str, path: &str, target: Target, progress: Progress) -> Result<Carried> {
    let mut stream: Stream = client.stream(reference, Open::Get { path: path.to_owned() }).await?;
    stream.started().await?;
    let (pieces, waiting) = mpsc::channel::<Vec<u8>>(WAITING);
    let unpacking = tokio::task::spawn_blocking(move || unpack::unpack(waiting, &target, progress));
    let received = async {
        loop {
            match stream.recv().await? {
                Some(Frame::Stdout(data)) => {
                    // A closed channel: unpacking failed and says why itself.
                    if pieces.send(data).await.is_err() {
                        return Ok(());
                    }
                }
                Some(Frame::Control(Control::Exit { code: 0 })) => return Ok(()),
                Some(Frame::Control(Control::Exit { code })) => return Err(ended(code)),
                Some(Frame::Control(Control::Error { cause, message })) => return Err(refused(&cause, message)),
                Some(_) => {}
                None => return Err(cut_off()),
            }
        }
    }
    .await;
    drop(pieces);
    let unpacked = unpacking.await.map_err(broken)?;
    // When the sender gave up, the archive is cut short because of that.
    received.and(unpacked)
}

/// Whether `path` is a folder in the instance.
///
/// # Errors
/// As for any stream.
pub async fn is_folder(client: &Client, reference: &str, path: &str) -> Result<bool> {
    let script = r#"test -d "$1""#;
    let argv = ["/bin/sh", "-c", script, "sh", path].map(str::to_owned).to_vec();
    let open = Open::Exec { argv, env: Default::default(), cwd: None, terminal: None };
    let mut stream = client.stream(reference, open).await?;
    loop {
        match stream.recv().await? {
            Some(Frame::Control(Control::Exit { code })) => return Ok(code == 0),
            Some(Frame::Control(Control::Error { cause, message })) => return Err(refused(&cause, message)),
            Some(_) => {}
            None => return Err(cut_off()),
        }
    }
}

fn ended(code: i32) -> Error {
    Error::new(Cause::EngineFailed, format!("the transfer ended with status {code}"))
        .hint("what was carried over so far may be incomplete; look at it, then try again")
}

fn cut_off() -> Error {
    Error::new(Cause::Unavailable, "the transfer was cut off")
        .hint("what was carried over so far may be incomplete; `suanli why` tells whether the instance stopped")
}

fn broken(error: tokio::task::JoinError) -> Error {
    Error::new(Cause::Internal, "the transfer broke off inside this program").context(error)
}
