//! Archives that nobody honest sends.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use proptest::prelude::*;
use tar::{Builder, Header};

use super::*;

/// One entry with any name at all; the library's own writer would refuse some.
fn entry(kind: EntryType, name: &str, to: &str, data: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.as_mut_bytes()[157..157 + to.len()].copy_from_slice(to.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o6755);
    header.set_mtime(1_000_000);
    header.set_size(data.len() as u64);
    header.set_cksum();
    let mut archive = Builder::new(Vec::new());
    archive.append(&header, data).unwrap();
    let mut bytes = archive.into_inner().unwrap();
    bytes.truncate(bytes.len() - 1024);
    bytes
}

fn into(folder: &Path, bytes: &[u8]) -> Result<(), String> {
    let top = openat(CWD, folder, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    unpack(bytes, top).map_err(|failure| match failure {
        Failure::Gone => "gone".to_owned(),
        Failure::Refused(cause, message) => format!("{cause}: {message}"),
    })
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn entries_that_leave_are_refused() {
    use EntryType::{Block, Char, Fifo, Link, Regular, Symlink};
    for (kind, name, to) in [
        (Regular, "/abs", ""),
        (Regular, "../up", ""),
        (Regular, "a/../../up", ""),
        (Regular, "", ""),
        (Char, "null", ""),
        (Block, "disk", ""),
        (Fifo, "pipe", ""),
        (Symlink, "l", "/etc/passwd"),
        (Symlink, "l", "../x"),
        (Symlink, "a/l", "../../x"),
        (Symlink, "l", "a/../../x"),
        (Symlink, "l", ""),
        (Link, "h", "/etc/passwd"),
        (Link, "h", "../outside"),
        (Link, "h", ""),
    ] {
        let outer = tempfile::tempdir().unwrap();
        fs::write(outer.path().join("outside"), "kept").unwrap();
        let inner = outer.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let why = into(&inner, &entry(kind, name, to, b"")).unwrap_err();
        assert!(why.starts_with("invalid-request: "), "{kind:?} {name} {to}: {why}");
        assert_eq!(names(outer.path()), ["inner", "outside"], "{kind:?} {name} {to}");
        assert!(fs::read_dir(&inner).unwrap().all(|entry| entry.unwrap().file_name() == "a"), "{kind:?} {name} {to}");
    }
}

#[test]
fn nothing_is_written_through_links() {
    let outer = tempfile::tempdir().unwrap();
    let (inner, outside) = (outer.path().join("inner"), outer.path().join("outside"));
    fs::create_dir(&inner).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "kept").unwrap();
    symlink(&outside, inner.join("folder")).unwrap();
    symlink(outside.join("file"), inner.join("file")).unwrap();

    for (kind, name, to) in [
        (EntryType::Regular, "folder/new", ""),
        (EntryType::Directory, "folder", ""),
        (EntryType::Directory, "folder/new", ""),
        (EntryType::Symlink, "folder/new", "x"),
        (EntryType::Link, "folder/new", "file"),
        (EntryType::Link, "new", "folder/file"),
        (EntryType::Link, "new", "file"),
    ] {
        let why = into(&inner, &entry(kind, name, to, b"")).unwrap_err();
        assert!(why.starts_with("invalid-request"), "{kind:?} {name}: {why}");
    }
    // A link where a file shall be is replaced, and what it led to stays.
    into(&inner, &entry(EntryType::Regular, "file", "", b"new")).unwrap();
    assert_eq!(fs::read(inner.join("file")).unwrap(), b"new");
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"kept");
    assert_eq!(names(&outside), ["file"]);
    assert_eq!(names(&inner), ["file", "folder"]);
}

#[test]
fn modes_times_and_links_are_kept_without_setuid() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = entry(EntryType::Directory, "d/", "", b"");
    bytes.extend(entry(EntryType::Regular, "d/f", "", b"data"));
    bytes.extend(entry(EntryType::Symlink, "d/s", "../d/f", b""));
    bytes.extend(entry(EntryType::Link, "d/h", "d/f", b""));
    // Twice: the second time everything is there already.
    for _ in 0..2 {
        into(folder.path(), &bytes).unwrap();
        let at = |name: &str| fs::symlink_metadata(folder.path().join(name)).unwrap();
        assert_eq!(at("d/f").permissions().mode() & 0o7777, 0o755);
        assert_eq!(at("d/f").mtime(), 1_000_000);
        assert_eq!(at("d/s").mtime(), 1_000_000);
        assert_eq!(at("d/h").ino(), at("d/f").ino());
        assert_eq!(fs::read(folder.path().join("d/s")).unwrap(), b"data");
        assert_eq!(names(&folder.path().join("d")), ["f", "h", "s"]);
    }
    let made = fs::metadata(folder.path().join("d")).unwrap();
    assert_eq!(made.permissions().mode() & 0o7777, 0o755);
}

#[test]
fn a_folder_does_not_become_a_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("d")).unwrap();
    fs::write(folder.path().join("f"), "").unwrap();
    let why = into(folder.path(), &entry(EntryType::Regular, "d", "", b"x")).unwrap_err();
    assert!(why.starts_with("already-exists"), "{why}");
    let why = into(folder.path(), &entry(EntryType::Directory, "f", "", b"")).unwrap_err();
    assert!(why.starts_with("already-exists"), "{why}");
    assert_eq!(names(folder.path()), ["d", "f"]);
}

#[test]
fn endless_headers_and_cut_archives_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let long = entry(EntryType::GNULongName, "././@LongLink", "", &vec![b'x'; 2 << 20]);
    let why = into(folder.path(), &long).unwrap_err();
    assert!(why.contains("too long"), "{why}");
    let whole = entry(EntryType::Regular, "f", "", &[7; 2000]);
    for cut in [100, 512, 1000, 2511] {
        let why = into(folder.path(), &whole[..cut]).unwrap_err();
        assert!(why.starts_with("invalid-request"), "{cut}: {why}");
    }
    assert!(names(folder.path()).is_empty(), "nothing half-written stays");
    into(folder.path(), &whole).unwrap();
}

#[test]
fn files_with_holes_come_back() {
    let source = tempfile::tempdir().unwrap();
    let path = source.path().join("holes");
    let mut file = File::create(&path).unwrap();
    file.seek(SeekFrom::Start(3 << 20)).unwrap();
    file.write_all(b"middle").unwrap();
    file.set_len(5 << 20).unwrap();
    let mut archive = Builder::new(Vec::new());
    archive.append_path_with_name(&path, "holes").unwrap();
    let bytes = archive.into_inner().unwrap();
    assert!(bytes.len() < 1 << 20, "the archive itself is sparse");
    let folder = tempfile::tempdir().unwrap();
    into(folder.path(), &bytes).unwrap();
    assert!(fs::read(&path).unwrap() == fs::read(folder.path().join("holes")).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Damaged archives give an error or files, but never end the helper or leave the folder.
    #[test]
    fn damaged_archives_do_no_harm(damage in proptest::collection::vec((0usize..4608, any::<u8>()), 1..12), fix in any::<bool>()) {
        let mut bytes = entry(EntryType::Directory, "d/", "", b"");
        bytes.extend(entry(EntryType::XHeader, "x", "", b"19 path=d/somename\n12 size=300\n"));
        bytes.extend(entry(EntryType::Regular, "d/f", "", &[7; 700]));
        bytes.extend(entry(EntryType::Symlink, "d/s", "f", b""));
        bytes.extend(entry(EntryType::GNUSparse, "p", "", &[1; 512]));
        for (at, value) in &damage {
            let at = at % bytes.len();
            bytes[at] = *value;
        }
        if fix {
            // Otherwise the checksum alone would catch nearly everything.
            for block in bytes.chunks_exact_mut(512) {
                let mut header = Header::new_old();
                header.as_mut_bytes().copy_from_slice(block);
                if block[257..262] == *b"ustar" {
                    header.set_cksum();
                    block.copy_from_slice(header.as_bytes());
                }
            }
        }
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let _ = into(&inner, &bytes);
        prop_assert_eq!(names(outer.path()), ["inner"]);
    }
}
