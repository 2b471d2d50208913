//! Unpacking an archive that comes from outside.
//!
//! Every step goes from an open folder to a name in it and never follows a symbolic
//! link, so that no order of entries can write outside. Files appear under their
//! name only when they are complete.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use link::{Control, Frame};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Timespec, Timestamps, fchmod, futimens, linkat, mkdirat, openat, renameat,
    statat, symlinkat, unlinkat, utimensat,
};
use tar::EntryType;

use crate::entry::{check_target, parts, shown};
use crate::failure::Failure;
use crate::wire::Wire;

/// Most bytes of one entry's header with its long names. Without a limit an archive
/// could make the helper hold any amount of memory.
const HEADER_LIMIT: u64 = 1024 * 1024;
/// Longest file with holes, bytes. A few bytes of archive can promise any length, and
/// the helper walks through all of it.
const SPARSE_LIMIT: u64 = 1 << 40;
const COPY_SIZE: usize = 64 * 1024;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Unpacks the archive that comes as input below `top`, which is made if missing.
///
/// # Errors
/// Refused, with what came before the refused entry in place; or the caller is gone.
pub fn run(wire: &mut Wire, top: &Path) -> Result<(), Failure> {
    let name = shown(top.as_os_str().as_bytes());
    std::fs::create_dir_all(top).map_err(|error| Failure::system(&name, &error))?;
    let folder = openat(CWD, top, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let folder = folder.map_err(|error| Failure::system(&name, &error.into()))?;
    wire.send(&Frame::Control(Control::Started))?;
    let mut input = Input { wire, chunk: Vec::new(), taken: 0, ended: false };
    unpack(&mut input, folder)?;
    // What follows the archive's own end is padding.
    while !input.ended {
        input.next_chunk()?;
    }
    Ok(())
}

/// The caller's input as a plain stream of bytes.
struct Input<'a> {
    wire: &'a mut Wire,
    chunk: Vec<u8>,
    taken: usize,
    ended: bool,
}

impl Input<'_> {
    fn next_chunk(&mut self) -> Result<(), Failure> {
        match self.wire.receive()? {
            Some(Frame::Stdin(data)) => {
                self.ended = data.is_empty();
                self.chunk = data;
                self.taken = 0;
                Ok(())
            }
            Some(_) => Err(Failure::invalid("a frame came that a sender of files never sends")),
            None => Err(Failure::Gone),
        }
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.chunk.len() && !self.ended {
            self.next_chunk().map_err(|failure| io::Error::other(Carried(failure)))?;
        }
        let count = (&self.chunk[self.taken..]).read(buffer)?;
        self.taken += count;
        Ok(count)
    }
}

/// Our own failure on its way through a library that knows only `io::Error`.
#[derive(Debug)]
struct Carried(Failure);

impl std::fmt::Display for Carried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the stream ended")
    }
}
impl std::error::Error for Carried {}

/// What is wrong with an archive that cannot be read.
fn broken(error: &io::Error) -> Failure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Carried>()) {
        Some(Carried(failure)) => failure.clone(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => Failure::invalid("the archive is cut off"),
        None => Failure::invalid(format!("the archive cannot be read: {error}")),
    }
}

/// Lets only so many bytes through while a header is read.
struct Metered<'a, R> {
    from: R,
    left: &'a Cell<u64>,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other("an entry's header is too long"));
        }
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.from.read(&mut buffer[..wanted])?;
        self.left.set(left.saturating_sub(count as u64));
        Ok(count)
    }
}

fn unpack(input: impl Read, top: OwnedFd) -> Result<(), Failure> {
    let left = Cell::new(0);
    let mut archive = tar::Archive::new(Metered { from: input, left: &left });
    let mut target = Target { top, parent: None, made: BTreeMap::new() };
    let mut entries = archive.entries().map_err(|error| broken(&error))?;
    loop {
        left.set(HEADER_LIMIT);
        let Some(entry) = entries.next() else { break };
        let mut entry = entry.map_err(|error| broken(&error))?;
        left.set(u64::MAX);
        target.write(&mut entry)?;
        io::copy(&mut entry, &mut io::sink()).map_err(|error| broken(&error))?;
    }
    target.complete_folders()
}

struct Facts {
    mode: Mode,
    times: Timestamps,
}

struct Target {
    top: OwnedFd,
    /// The folder of the last entry, as the next one is mostly in the same.
    parent: Option<(Vec<u8>, OwnedFd)>,
    /// Folders that were made, with the mode and time that they get at the end:
    /// earlier, a read-only folder could not be filled, and filling changes its time.
    /// Folders that were there already keep theirs.
    made: BTreeMap<Vec<u8>, Option<Facts>>,
}

impl Target {
    fn write<R: Read>(&mut self, entry: &mut tar::Entry<'_, R>) -> Result<(), Failure> {
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            return Ok(());
        }
        let name = entry.path_bytes().into_owned();
        let parts = parts(&name)?;
        let facts = facts(entry, kind);
        let Some((last, above)) = parts.split_last() else {
            return match kind {
                EntryType::Directory => Ok(()),
                _ => Err(Failure::invalid("an archive entry without a name is not a folder")),
            };
        };
        let last = OsStr::from_bytes(last);
        match kind {
            EntryType::Directory => {
                self.folder(&parts, &name)?;
                if let Some(later) = self.made.get_mut(&parts.join(&b'/')) {
                    *later = Some(facts);
                }
                Ok(())
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                refuse_other_sparse(entry, &name)?;
                let parent = self.folder(above, &name)?;
                write_file(parent, last, &name, entry, kind == EntryType::GNUSparse, &facts)
            }
            EntryType::Symlink => {
                let to = entry.link_name_bytes().unwrap_or_default().into_owned();
                check_target(&name, &to, above.len())?;
                let parent = self.folder(above, &name)?;
                place(parent, last, &name, |passing| symlinkat(OsStr::from_bytes(&to), parent, passing))?;
                let done = utimensat(parent, last, &facts.times, AtFlags::SYMLINK_NOFOLLOW);
                done.map_err(|error| failed(&name, error))
            }
            EntryType::Link => self.hard_link(entry, above, last, &name),
            _ => Err(Failure::invalid(format!("the archive entry `{}` is a device or pipe", shown(&name)))),
        }
    }

    fn hard_link<R: Read>(
        &mut self,
        entry: &tar::Entry<'_, R>,
        above: &[&[u8]],
        last: &OsStr,
        name: &[u8],
    ) -> Result<(), Failure> {
        let to = entry.link_name_bytes().unwrap_or_default().into_owned();
        let to_parts = parts(&to)?;
        let Some((to_last, to_above)) = to_parts.split_last() else {
            return Err(Failure::invalid(format!("the hard link `{}` has no target", shown(name))));
        };
        let to_last = OsStr::from_bytes(to_last);
        let source =
            self.folder(to_above, &to)?.try_clone_to_owned().map_err(|error| Failure::system("a link", &error))?;
        let found = statat(&source, to_last, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| failed(&to, error))?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(Failure::invalid(format!("the hard link `{}` does not lead to a file", shown(name))));
        }
        let parent = self.folder(above, name)?;
        place(parent, last, name, |passing| linkat(&source, to_last, parent, passing, AtFlags::empty()))
    }

    /// Opens a folder below the top, and makes what is missing.
    fn folder(&mut self, parts: &[&[u8]], name: &[u8]) -> Result<BorrowedFd<'_>, Failure> {
        if parts.is_empty() {
            return Ok(self.top.as_fd());
        }
        let path = parts.join(&b'/');
        if self.parent.as_ref().is_none_or(|(known, _)| *known != path) {
            let mut current: Option<OwnedFd> = None;
            for (at, part) in parts.iter().enumerate() {
                let from = current.as_ref().unwrap_or(&self.top);
                let part = OsStr::from_bytes(part);
                match mkdirat(from, part, Mode::from_raw_mode(0o755)) {
                    Ok(()) => drop(self.made.insert(parts[..=at].join(&b'/'), None)),
                    Err(rustix::io::Errno::EXIST) => {}
                    Err(error) => return Err(failed(name, error)),
                }
                let next = openat(from, part, FOLDER, Mode::empty());
                current = Some(next.map_err(|error| blocked(from.as_fd(), part, name, error))?);
            }
            self.parent = current.map(|folder| (path, folder));
        }
        Ok(self.parent.as_ref().map_or(self.top.as_fd(), |(_, folder)| folder.as_fd()))
    }

    /// Gives the folders that were made their modes and times, the deepest first.
    fn complete_folders(mut self) -> Result<(), Failure> {
        while let Some((path, facts)) = self.made.pop_last() {
            let Some(facts) = facts else { continue };
            let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
            let folder = self.folder(&parts, &path)?;
            let done = fchmod(folder, facts.mode).and_then(|()| futimens(folder, &facts.times));
            done.map_err(|error| failed(&path, error))?;
        }
        Ok(())
    }
}

fn facts<R: Read>(entry: &tar::Entry<'_, R>, kind: EntryType) -> Facts {
    // Never more than the sender's own rights: a program with setuid from outside
    // would be one that nobody inside has checked.
    let allowed = if kind == EntryType::Directory { 0o1777 } else { 0o777 };
    let mode = Mode::from_raw_mode(entry.header().mode().unwrap_or(0o644) & allowed);
    let seconds = entry.header().mtime().ok().and_then(|time| i64::try_from(time).ok()).unwrap_or(0);
    let at = Timespec { tv_sec: seconds, tv_nsec: 0 };
    Facts { mode, times: Timestamps { last_access: at, last_modification: at } }
}

/// The other ways to write a file with holes put a table into its contents, which
/// would be unpacked as if it were data.
fn refuse_other_sparse<R: Read>(entry: &mut tar::Entry<'_, R>, name: &[u8]) -> Result<(), Failure> {
    let Ok(Some(records)) = entry.pax_extensions() else { return Ok(()) };
    let sparse = records.flatten().any(|record| record.key_bytes().starts_with(b"GNU.sparse."));
    match sparse {
        true => Err(Failure::invalid(format!("`{}` is stored as a sparse file in a form not known here", shown(name)))),
        false => Ok(()),
    }
}

fn write_file<R: Read>(
    parent: BorrowedFd<'_>,
    last: &OsStr,
    name: &[u8],
    from: &mut tar::Entry<'_, R>,
    sparse: bool,
    facts: &Facts,
) -> Result<(), Failure> {
    let mut made = None;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let passing = Passing::make(parent, name, |passing| {
        made = Some(File::from(openat(parent, passing, flags, Mode::from_raw_mode(0o600))?));
        Ok(())
    })?;
    let Some(mut file) = made else { return Err(Failure::invalid("a file could not be made")) };
    let size = from.size();
    if sparse && size > SPARSE_LIMIT {
        return Err(Failure::invalid(format!("`{}` is a sparse file of more than 1 TiB", shown(name))));
    }
    let failed_write = |error: io::Error| Failure::system(&shown(name), &error);
    let mut buffer = vec![0; COPY_SIZE];
    let mut written = 0;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) => return Err(broken(&error)),
        };
        written += count as u64;
        if sparse && buffer[..count].iter().all(|byte| *byte == 0) {
            file.seek(SeekFrom::Current(count as i64)).map_err(failed_write)?;
        } else {
            file.write_all(&buffer[..count]).map_err(failed_write)?;
        }
    }
    if written != size {
        return Err(Failure::invalid("the archive is cut off"));
    }
    if sparse {
        file.set_len(size).map_err(failed_write)?;
    }
    let done = fchmod(&file, facts.mode).and_then(|()| futimens(&file, &facts.times));
    done.map_err(|error| failed(name, error))?;
    passing.rename(last, name)
}

/// Makes something under a passing name, then gives it its own.
fn place(
    parent: BorrowedFd<'_>,
    last: &OsStr,
    name: &[u8],
    make: impl FnMut(&OsStr) -> rustix::io::Result<()>,
) -> Result<(), Failure> {
    Passing::make(parent, name, make)?.rename(last, name)
}

/// Something under a passing name, removed unless it gets its own.
struct Passing<'a> {
    parent: BorrowedFd<'a>,
    name: OsString,
}

impl<'a> Passing<'a> {
    fn make(
        parent: BorrowedFd<'a>,
        name: &[u8],
        mut make: impl FnMut(&OsStr) -> rustix::io::Result<()>,
    ) -> Result<Self, Failure> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let passing = OsString::from(format!(".suanli-put-{}-{number}", std::process::id()));
            match make(&passing) {
                Ok(()) => return Ok(Self { parent, name: passing }),
                // Left over from a helper that was killed.
                Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(failed(name, error)),
            }
        }
    }

    fn rename(self, last: &OsStr, name: &[u8]) -> Result<(), Failure> {
        match renameat(self.parent, &self.name, self.parent, last) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::ISDIR) => Err(Failure::Refused(
                crate::failure::cause::ALREADY_EXISTS,
                format!("`{}` is a folder inside and cannot become a file", shown(name)),
            )),
            Err(error) => Err(failed(name, error)),
        }
        // Dropping removes what is left under the passing name: nothing after a
        // rename, but a second hard link to the same file where rename did nothing.
    }
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        let _ = unlinkat(self.parent, &self.name, AtFlags::empty());
    }
}

fn failed(name: &[u8], error: rustix::io::Errno) -> Failure {
    Failure::system(&shown(name), &error.into())
}

/// Why a part of a path could not be entered.
fn blocked(parent: BorrowedFd<'_>, part: &OsStr, name: &[u8], error: rustix::io::Errno) -> Failure {
    match statat(parent, part, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Symlink => Failure::invalid(format!(
            "the archive entry `{}` would be written through the symbolic link `{}`",
            shown(name),
            shown(part.as_bytes())
        )),
        _ => failed(name, error),
    }
}

#[cfg(test)]
mod tests;
