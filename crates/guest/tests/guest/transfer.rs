//! Files in and out.

use std::fs;
use std::io::Cursor;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use link::{Control, Frame, Open};
use tar::{Archive, Builder, EntryType, Header};

use crate::support::{Guest, Outcome, until};

fn put(guest: &Guest, path: &str, archive: &[u8]) -> Outcome {
    let mut caller = guest.open(Open::Put { path: path.into() });
    caller.input(archive);
    caller.end_input();
    caller.outcome()
}

fn get(guest: &Guest, path: &str) -> Outcome {
    guest.open(Open::Get { path: path.into() }).outcome()
}

/// Everything that must survive the way there and back, one line a name.
fn listing(top: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut todo = vec![top.to_owned()];
    while let Some(path) = todo.pop() {
        let facts = fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(top).unwrap().display().to_string();
        let mode = facts.permissions().mode() & 0o7777;
        if facts.is_symlink() {
            lines.push(format!("{name} -> {}", fs::read_link(&path).unwrap().display()));
        } else if facts.is_dir() {
            lines.push(format!("{name}/ {mode:o} {}", facts.mtime()));
            todo.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            lines.push(format!("{name} {mode:o} {} {}", facts.mtime(), facts.len()));
        }
    }
    lines.sort();
    lines
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_tree_comes_back_as_it_was() {
    let guest = Guest::start(&[]);
    let tree = guest.home().join("tree");
    let long = "a-long-name-".repeat(12);
    fs::create_dir_all(tree.join("empty")).unwrap();
    fs::create_dir_all(tree.join(&long).join(&long)).unwrap();
    fs::write(tree.join(&long).join(&long).join("文件.txt"), "deep").unwrap();
    fs::write(tree.join("script"), "#!/bin/sh\n").unwrap();
    mode(&tree.join("script"), 0o751);
    fs::write(tree.join("secret"), "").unwrap();
    mode(&tree.join("secret"), 0o600);
    symlink("script", tree.join("link")).unwrap();
    symlink("../script", tree.join("empty/up")).unwrap();
    symlink("nowhere", tree.join("dangling")).unwrap();
    let mut big: Vec<u8> = (0..100u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    big.truncate((100 << 20) - 7);
    fs::write(tree.join("big"), &big).unwrap();
    // Left out: nobody can use it elsewhere.
    let socket = std::os::unix::net::UnixListener::bind(tree.join("socket")).unwrap();
    drop(socket);
    mode(&tree.join("empty"), 0o555);
    fs::File::open(&tree).unwrap().set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(99)).unwrap();

    let packed = get(&guest, "tree");
    assert!(packed.started);
    assert_eq!(packed.code(), 0);
    let unpacked = put(&guest, "a/new/place", &packed.stdout);
    assert!(unpacked.started);
    assert_eq!(unpacked.code(), 0);
    let expected: Vec<String> = listing(&tree).into_iter().filter(|line| !line.starts_with("socket")).collect();
    let there = guest.home().join("a/new/place/tree");
    assert_eq!(listing(&there), expected);
    assert_eq!(fs::metadata(&there).unwrap().mtime(), 99);
    assert!(fs::read(there.join("big")).unwrap() == big);
    // A second time: files are replaced, folders that were there keep what they have.
    mode(&there, 0o700);
    mode(&tree.join("empty"), 0o755);
    mode(&there.join("empty"), 0o755);
    assert_eq!(put(&guest, "a/new/place", &packed.stdout).code(), 0);
    let files = |lines: Vec<String>| -> Vec<String> { lines.into_iter().filter(|line| !line.contains("/ ")).collect() };
    assert_eq!(files(listing(&there)), files(expected));
    assert_eq!(fs::metadata(&there).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn names_begin_with_the_last_part() {
    let guest = Guest::start(&[]);
    fs::create_dir(guest.home().join("folder")).unwrap();
    fs::write(guest.home().join("folder/file"), "x").unwrap();
    symlink("folder", guest.home().join("link")).unwrap();
    for (path, names) in [
        ("folder", vec!["folder", "folder/file"]),
        ("folder/", vec!["folder", "folder/file"]),
        ("folder/.", vec!["folder", "folder/file"]),
        ("folder/file", vec!["file"]),
        ("link", vec!["link", "link/file"]),
    ] {
        let outcome = get(&guest, path);
        let mut archive = Archive::new(Cursor::new(outcome.stdout));
        let found: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string().trim_end_matches('/').to_owned())
            .collect();
        assert_eq!(found, names, "{path}");
    }
}

#[test]
fn what_is_missing_is_said() {
    let guest = Guest::start(&[]);
    let outcome = get(&guest, "no/such/thing");
    assert_eq!(outcome.error().0, "not-found");
    assert!(outcome.error().1.contains("no/such/thing"));
    assert!(!outcome.started);
    assert_eq!(get(&guest, "/dev/null").error().0, "invalid-request");
    fs::write(guest.home().join("file"), "").unwrap();
    assert_eq!(put(&guest, "file", &[]).error().0, "already-exists");
    assert_eq!(put(&guest, "file/below", &[]).error().0, "already-exists");
}

#[test]
fn hostile_entries_are_refused_and_named() {
    let guest = Guest::start(&[]);
    for (kind, name, to) in [
        (EntryType::Regular, "../escaped", ""),
        (EntryType::Regular, "/tmp/escaped", ""),
        (EntryType::Symlink, "link", "../.."),
        (EntryType::Char, "device", ""),
    ] {
        let mut header = Header::new_gnu();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.as_mut_bytes()[157..157 + to.len()].copy_from_slice(to.as_bytes());
        header.set_entry_type(kind);
        header.set_size(0);
        header.set_cksum();
        let mut archive = Builder::new(Vec::new());
        archive.append(&header, &[][..]).unwrap();
        let mut bytes = archive.into_inner().unwrap();
        // Much still to come: the caller must hear the reason, not a broken pipe.
        bytes.resize(3_000_000, 0);
        let outcome = put(&guest, "in", &bytes);
        assert_eq!(outcome.error().0, "invalid-request");
        assert!(outcome.error().1.contains(name), "{}", outcome.error().1);
    }
    assert!(fs::read_dir(guest.home().join("in")).unwrap().next().is_none());
    assert!(!guest.home().join("escaped").exists());
}

#[test]
fn broken_transfers_leave_no_half_files() {
    let guest = Guest::start(&[]);
    let mut archive = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_size(500_000);
    archive.append_data(&mut header, "file", Cursor::new(vec![1; 500_000])).unwrap();
    let bytes = archive.into_inner().unwrap();
    let outcome = put(&guest, "cut", &bytes[..200_000]);
    assert_eq!(outcome.error(), ("invalid-request", "the archive is cut off"));
    assert!(fs::read_dir(guest.home().join("cut")).unwrap().next().is_none());
    // The caller goes away in the middle.
    let mut caller = guest.open(Open::Put { path: "gone".into() });
    caller.input(&bytes[..200_000]);
    let inside = || fs::read_dir(guest.home().join("gone")).ok()?.next();
    until("the file begins", || inside().map(drop));
    drop(caller);
    until("nothing is left of it", || inside().is_none().then_some(()));
    // A frame that has no place there.
    let mut caller = guest.open(Open::Put { path: "wrong".into() });
    caller.send(&Frame::Stdout(vec![1]));
    assert_eq!(caller.outcome().error().0, "invalid-request");
    let mut caller = guest.open(Open::Put { path: "wrong".into() });
    caller.input(&bytes[..1000]);
    caller.control(Control::Signal { number: 9 });
    assert!(caller.outcome().error().1.contains("never sends"));
}

#[test]
fn a_full_disk_is_named_as_such() {
    let guest = Guest::start_as_first("mount -t tmpfs -o size=1m none \"$HOME\" || exit 1", &[]);
    let mut archive = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_size(3_000_000);
    archive.append_data(&mut header, "file", Cursor::new(vec![1; 3_000_000])).unwrap();
    let outcome = put(&guest, ".", &archive.into_inner().unwrap());
    assert_eq!(outcome.error().0, "disk-full");
    let after = guest.sh("ls -A; df --output=used . | tail -1").outcome().out();
    assert_eq!(after.trim(), "0", "the half-written file is removed");
}
