//! A file or folder of this machine as a tar archive.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use base::{Cause, Error, Result};
use tar::{Builder, EntryType, Header};
use tokio::sync::mpsc;

use super::{Carried, Progress};

/// One thing of the archive.
struct Item {
    at: PathBuf,
    name: PathBuf,
}

/// Writes the archive to `pieces`; its entries begin with `name`.
///
/// # Errors
/// `invalid-request` for what cannot be read, or changes while it is read.
pub fn pack(source: &Path, name: &str, pieces: mpsc::Sender<Vec<u8>>, mut progress: Progress) -> Result<Carried> {
    let mut items = Vec::new();
    let top = fs::metadata(source).map_err(|e| unreadable(source, &e))?;
    let mut total = 0;
    if top.is_dir() {
        list(source, Path::new(name), &mut items, &mut total)?;
    } else {
        total = top.len();
    }
    progress.total(total);
    let mut builder = Builder::new(Pieces { to: pieces, buffer: Vec::with_capacity(PIECE) });
    let mut carried = Carried::default();
    // The named thing itself may be a link to what is meant; links inside stay links.
    append(&mut builder, &Item { at: source.to_owned(), name: name.into() }, true, &mut carried, &mut progress)?;
    for item in &items {
        append(&mut builder, item, false, &mut carried, &mut progress)?;
    }
    let mut pieces = builder.into_inner().map_err(|_| gone())?;
    pieces.flush().map_err(|_| gone())?;
    carried.bytes = progress.done();
    Ok(carried)
}

/// Everything below a folder, folders before what is in them.
fn list(folder: &Path, name: &Path, items: &mut Vec<Item>, total: &mut u64) -> Result<()> {
    let mut entries: Vec<_> =
        fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(|e| unreadable(folder, &e))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (at, name) = (entry.path(), name.join(entry.file_name()));
        let about = fs::symlink_metadata(&at).map_err(|e| unreadable(&at, &e))?;
        items.push(Item { at: at.clone(), name: name.clone() });
        if about.is_dir() {
            list(&at, &name, items, total)?;
        } else if about.is_file() {
            *total += about.len();
        }
    }
    Ok(())
}

fn append(
    builder: &mut Builder<Pieces>,
    item: &Item,
    follow: bool,
    carried: &mut Carried,
    progress: &mut Progress,
) -> Result<()> {
    let at = &item.at;
    let about = if follow { fs::metadata(at) } else { fs::symlink_metadata(at) }.map_err(|e| unreadable(at, &e))?;
    let mut header = Header::new_gnu();
    header.set_metadata(&about);
    // Who owns it here means nothing there.
    header.set_uid(0);
    header.set_gid(0);
    if about.is_dir() {
        header.set_size(0);
        return builder.append_data(&mut header, &item.name, io::empty()).map_err(|_| gone());
    }
    if about.is_symlink() {
        let target = fs::read_link(at).map_err(|e| unreadable(at, &e))?;
        header.set_size(0);
        return builder.append_link(&mut header, &item.name, target).map_err(|_| gone());
    }
    if !about.is_file() {
        return Err(Error::new(Cause::InvalidRequest, format!("{} is neither a file nor a folder", at.display()))
            .hint("leave sockets, pipes and devices out"));
    }
    header.set_entry_type(EntryType::Regular);
    let file = File::open(at).map_err(|e| unreadable(at, &e))?;
    let mut exact = Exact { from: file, left: about.len(), failed: None, progress };
    let appended = builder.append_data(&mut header, &item.name, &mut exact);
    if let Some(why) = exact.failed.take() {
        return Err(unreadable(at, &why));
    }
    carried.files += 1;
    appended.map_err(|_| gone())
}

/// A file that gives exactly the length that its header promised.
struct Exact<'a> {
    from: File,
    left: u64,
    failed: Option<io::Error>,
    progress: &'a mut Progress,
}

impl Read for Exact<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if wanted == 0 {
            return Ok(0);
        }
        let result = match self.from.read(&mut buffer[..wanted]) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter while it was read")),
            other => other,
        };
        match result {
            Ok(count) => {
                self.left -= count as u64;
                self.progress.add(count as u64);
                Ok(count)
            }
            Err(error) => {
                self.failed = Some(io::Error::new(error.kind(), error.to_string()));
                Err(error)
            }
        }
    }
}

/// Large enough that the network, not the pieces, is the limit.
const PIECE: usize = 64 * 1024;

struct Pieces {
    to: mpsc::Sender<Vec<u8>>,
    buffer: Vec<u8>,
}

impl Write for Pieces {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let count = data.len().min(PIECE - self.buffer.len());
        self.buffer.extend_from_slice(&data[..count]);
        if self.buffer.len() == PIECE {
            self.flush()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.buffer, Vec::with_capacity(PIECE));
        self.to.blocking_send(piece).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

fn unreadable(path: &Path, why: &io::Error) -> Error {
    let cause = if why.kind() == io::ErrorKind::NotFound { Cause::NotFound } else { Cause::InvalidRequest };
    Error::new(cause, format!("{} cannot be read: {why}", path.display()))
        .hint("what was sent before it is already there; mend this, then copy again")
}

/// The receiving side went away; its own words are worth more than these.
fn gone() -> Error {
    Error::new(Cause::Unavailable, "the transfer was cut off")
        .hint("try again; `suanli why` tells whether the instance stopped")
}
