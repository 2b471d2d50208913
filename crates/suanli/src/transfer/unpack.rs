//! A tar archive from an instance as files of this machine.
//!
//! The archive comes from whatever runs in the instance, so nothing in it is
//! trusted: names that leave the target are refused, and links are made last,
//! so that no later entry can be written through one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use base::{Cause, Error, Result};
use tar::{Archive, EntryType};
use tokio::sync::mpsc;

use super::{Carried, Progress};

/// Where the archive goes.
#[derive(Clone, Debug)]
pub struct Target {
    /// The file or folder that the archive's first entry becomes.
    pub path: PathBuf,
    /// Whether `path` is a folder into which the first entry goes under its own name.
    pub into: bool,
    /// Whether a folder is welcome.
    pub recursive: bool,
}

/// Reads the archive and writes what is in it.
///
/// # Errors
/// `invalid-request` for an archive that wants to leave the target, `not-offered`
/// for a folder that is not welcome, `disk-full` for what cannot be written.
pub fn unpack(pieces: mpsc::Receiver<Vec<u8>>, target: &Target, mut progress: Progress) -> Result<Carried> {
    let mut archive = Archive::new(Pieces { from: pieces, piece: Vec::new(), at: 0 });
    let mut carried = Carried::default();
    let mut links = Vec::new();
    let mut folders = Vec::new();
    let mut top: Option<PathBuf> = None;
    for entry in archive.entries().map_err(|e| damaged(&e))? {
        let mut entry = entry.map_err(|e| damaged(&e))?;
        let name = entry.path().map_err(|e| damaged(&e))?.into_owned();
        let (first, rest) = inside(&name)?;
        let root = match &top {
            Some(root) => root.clone(),
            None => {
                let root = if target.into { target.path.join(&first) } else { target.path.clone() };
                top.insert(root).clone()
            }
        };
        let at = if rest.as_os_str().is_empty() { root } else { root.join(&rest) };
        let mode = entry.header().mode().unwrap_or(0o644) & 0o777;
        match entry.header().entry_type() {
            EntryType::Directory => {
                if !target.recursive {
                    return Err(Error::new(Cause::NotOffered, format!("{} is a folder", name.display()))
                        .hint("add -r to copy folders"));
                }
                fs::create_dir_all(&at).map_err(|e| unwritable(&at, &e))?;
                folders.push((at, mode));
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                write_file(&at, mode, &mut entry, &mut progress)?;
                carried.files += 1;
            }
            kind @ (EntryType::Symlink | EntryType::Link) => {
                let to = entry.link_name().map_err(|e| damaged(&e))?;
                let to = to.ok_or_else(|| damaged(&io::Error::other("a link to nothing")))?.into_owned();
                links.push((kind, at, to));
            }
            _ => crate::output::note(&format!(
                "left out {}: it is neither a file nor a folder",
                crate::output::clean(&name.display().to_string())
            )),
        }
    }
    let root = top.ok_or_else(|| damaged(&io::Error::new(io::ErrorKind::UnexpectedEof, "it is empty")))?;
    for (kind, at, to) in links {
        make_link(kind, &root, &at, &to)?;
    }
    // Last and from the inside out: a folder may be one that cannot be written.
    for (folder, mode) in folders.into_iter().rev() {
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).map_err(|e| unwritable(&folder, &e))?;
    }
    carried.bytes = progress.done();
    Ok(carried)
}

/// The first part of a name, and the rest.
fn inside(name: &Path) -> Result<(PathBuf, PathBuf)> {
    let mut parts = name.components().filter(|part| *part != Component::CurDir);
    let refuse = || {
        Error::new(Cause::InvalidRequest, format!("the archive holds `{}`, which leads out of it", name.display()))
            .hint("nothing was written there; do not trust what runs in this instance")
    };
    let first = match parts.next() {
        Some(Component::Normal(first)) => PathBuf::from(first),
        _ => return Err(refuse()),
    };
    let mut rest = PathBuf::new();
    for part in parts {
        match part {
            Component::Normal(part) => rest.push(part),
            _ => return Err(refuse()),
        }
    }
    Ok((first, rest))
}

fn write_file(at: &Path, mode: u32, from: &mut impl Read, progress: &mut Progress) -> Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode | 0o200)
        .open(at)
        .map_err(|e| unwritable(at, &e))?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = from.read(&mut buffer).map_err(|e| damaged(&e))?;
        if count == 0 {
            break;
        }
        file.write_all(&buffer[..count]).map_err(|e| unwritable(at, &e))?;
        progress.add(count as u64);
    }
    set_mode(&file, mode).map_err(|e| unwritable(at, &e))
}

fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(fs::Permissions::from_mode(mode))
}

fn make_link(kind: EntryType, root: &Path, at: &Path, to: &Path) -> Result<()> {
    if fs::symlink_metadata(at).is_ok_and(|about| !about.is_dir()) {
        fs::remove_file(at).map_err(|e| unwritable(at, &e))?;
    }
    let made = if kind == EntryType::Symlink {
        symlink(to, at)
    } else {
        let (_, rest) = inside(to)?;
        let original = root.join(rest);
        // A hard link to a link would be a way around the rule above.
        match fs::symlink_metadata(&original) {
            Ok(about) if about.is_file() => fs::hard_link(&original, at),
            _ => return Err(damaged(&io::Error::other("a link to something that is not a file of the archive"))),
        }
    };
    made.map_err(|e| unwritable(at, &e))
}

fn unwritable(path: &Path, why: &io::Error) -> Error {
    let cause = if why.kind() == io::ErrorKind::StorageFull { Cause::DiskFull } else { Cause::InvalidRequest };
    Error::new(cause, format!("{} cannot be written: {why}", path.display()))
        .hint("choose another target, or make room and write access there")
}

fn damaged(why: &io::Error) -> Error {
    Error::new(Cause::Unavailable, "what came is not a whole archive")
        .hint("what was copied so far may be incomplete; try again")
        .context(why)
}

struct Pieces {
    from: mpsc::Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            match self.from.blocking_recv() {
                Some(piece) => (self.piece, self.at) = (piece, 0),
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.piece.len() - self.at);
        buffer[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::pack::pack;
    use super::*;

    fn target(path: PathBuf, into: bool) -> Target {
        Target { path, into, recursive: true }
    }

    fn bytes_of(source: &Path, name: &str) -> Vec<Vec<u8>> {
        let (to, mut from) = mpsc::channel(1000);
        pack(source, name, to, Progress::new("test")).unwrap();
        let mut all = Vec::new();
        while let Some(piece) = from.blocking_recv() {
            all.push(piece);
        }
        all
    }

    fn unpack_bytes(pieces: Vec<Vec<u8>>, target: &Target) -> Result<Carried> {
        let (to, from) = mpsc::channel(1000);
        for piece in pieces {
            to.blocking_send(piece).unwrap();
        }
        drop(to);
        unpack(from, target, Progress::new("test"))
    }

    #[test]
    fn a_tree_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src");
        fs::create_dir_all(source.join("deep/empty")).unwrap();
        let large: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
        fs::write(source.join("deep/large"), &large).unwrap();
        fs::write(source.join("run.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(source.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(source.join("deep/empty"), fs::Permissions::from_mode(0o500)).unwrap();
        symlink("deep/large", source.join("link")).unwrap();
        let copy = folder.path().join("copy");
        let carried = unpack_bytes(bytes_of(&source, "other-name"), &target(copy.clone(), false)).unwrap();
        assert_eq!(carried, Carried { files: 2, bytes: 300_010 });
        assert_eq!(fs::read(copy.join("deep/large")).unwrap(), large);
        assert_eq!(fs::metadata(copy.join("run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::metadata(copy.join("deep/empty")).unwrap().permissions().mode() & 0o777, 0o500);
        assert_eq!(fs::read_link(copy.join("link")).unwrap(), PathBuf::from("deep/large"));
    }

    #[test]
    fn into_a_folder_the_name_is_kept_and_a_folder_needs_leave() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("d")).unwrap();
        let pieces = bytes_of(&folder.path().join("d"), "d");
        let refused = Target { path: folder.path().join("x"), into: false, recursive: false };
        assert_eq!(unpack_bytes(pieces.clone(), &refused).unwrap_err().cause(), Cause::NotOffered);
        assert!(!folder.path().join("x").exists());
        fs::create_dir(folder.path().join("in")).unwrap();
        unpack_bytes(pieces, &target(folder.path().join("in"), true)).unwrap();
        assert!(folder.path().join("in/d").is_dir());
    }

    fn raw(entries: &[(&str, EntryType, &str, &[u8])]) -> Vec<Vec<u8>> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, kind, link, data) in entries {
            let mut header = tar::Header::new_gnu();
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(data.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append(&header, *data).unwrap();
        }
        vec![builder.into_inner().unwrap()]
    }

    #[test]
    fn hostile_archives_write_nothing_outside_the_target() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let to = outside.to_str().unwrap();
        let cases = [
            raw(&[("../outside/x", EntryType::Regular, "", b"bad")]),
            raw(&[("/outside/x", EntryType::Regular, "", b"bad")]),
            raw(&[("t", EntryType::Directory, "", b""), ("t/../../outside/x", EntryType::Regular, "", b"bad")]),
            raw(&[
                ("t", EntryType::Directory, "", b""),
                ("t/l", EntryType::Symlink, to, b""),
                ("t/l/x", EntryType::Regular, "", b"bad"),
            ]),
            raw(&[("t", EntryType::Directory, "", b""), ("t/h", EntryType::Link, "t/../../outside/x", b"")]),
        ];
        for (i, case) in cases.into_iter().enumerate() {
            let place = folder.path().join(format!("target{i}"));
            assert!(unpack_bytes(case, &target(place, false)).is_err(), "case {i} was taken");
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "case {i} wrote outside");
        }
    }

    #[test]
    fn an_archive_cut_short_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f"), vec![7; 200_000]).unwrap();
        let mut pieces = bytes_of(&folder.path().join("f"), "f");
        pieces.truncate(1);
        assert!(unpack_bytes(pieces, &target(folder.path().join("g"), false)).is_err());
        assert!(unpack_bytes(Vec::new(), &target(folder.path().join("h"), false)).is_err());
    }
}
