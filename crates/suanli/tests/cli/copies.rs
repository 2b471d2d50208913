//! `suanli cp`, both ways.

use std::fs;

use super::server::Server;

fn read(path: impl AsRef<std::path::Path>) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_file_keeps_its_name_or_takes_the_targets() {
    let server = Server::start();
    let there = server.plan().files.clone();
    let here = server.here().join("train.py");
    let here = here.to_str().unwrap();
    fs::write(here, "print(1)\n").unwrap();
    fs::create_dir(there.join("workspace")).unwrap();
    for (target, found) in [
        ("box:/workspace/other.py", "workspace/other.py"),
        ("box:/workspace", "workspace/train.py"),
        ("box:/fresh/", "fresh/train.py"),
        ("box:", "train.py"),
        ("box:renamed.py", "renamed.py"),
        ("box:~/deep/down.py", "deep/down.py"),
    ] {
        let ran = server.run(&["cp", here, target]);
        assert_eq!(ran.code, 0, "{target}: {ran:?}");
        assert_eq!(read(there.join(found)), "print(1)\n", "{target}");
    }
    let ran = server.run(&["cp", here, "box:x", "--json"]);
    assert_eq!(ran.json(), serde_json::json!({"files": 1, "bytes": 9}));
}

#[test]
fn a_file_comes_back_under_its_own_or_another_name() {
    let server = Server::start();
    let there = server.plan().files.clone();
    let large = "x".repeat(500_000);
    fs::write(there.join("model.bin"), &large).unwrap();
    let here = server.here().join("got");
    fs::create_dir(&here).unwrap();
    assert_eq!(server.run(&["cp", "box:model.bin", here.to_str().unwrap()]).code, 0);
    assert!(read(here.join("model.bin")) == large);
    let other = here.join("other.bin");
    assert_eq!(server.run(&["cp", "box:/model.bin", other.to_str().unwrap()]).code, 0);
    assert!(read(&other) == large);
    let ran = server.run(&["cp", "box:nothing", other.to_str().unwrap()]);
    assert_eq!(ran.code, 4);
    assert!(read(&other) == large, "a refused copy must leave the old file alone");
    let ran = server.run(&["cp", "box:model.bin", here.join("no/such/folder").to_str().unwrap()]);
    assert_eq!(ran.code, 4);
}

#[test]
fn folders_go_with_leave_only_and_nest_as_cp_does() {
    let server = Server::start();
    let there = server.plan().files.clone();
    let tree = server.here().join("tree");
    fs::create_dir_all(tree.join("a/empty")).unwrap();
    fs::write(tree.join("a/f"), "f").unwrap();
    let tree = tree.to_str().unwrap();
    let ran = server.run(&["cp", tree, "box:copy"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("add -r"));
    // The first copy becomes the target, the second goes into it.
    assert_eq!(server.run(&["cp", "-r", tree, "box:copy"]).code, 0);
    assert_eq!(read(there.join("copy/a/f")), "f");
    assert_eq!(server.run(&["cp", "-r", tree, "box:copy"]).code, 0);
    assert_eq!(read(there.join("copy/tree/a/f")), "f");
    assert!(there.join("copy/a/empty").is_dir());
    let back = server.here().join("back");
    let back = back.to_str().unwrap();
    assert_eq!(server.run(&["cp", "box:copy", back]).code, 3);
    assert_eq!(server.run(&["cp", "-r", "box:copy", back]).code, 0);
    assert_eq!(read(format!("{back}/tree/a/f")), "f");
    assert_eq!(server.run(&["cp", "-r", "box:copy", back]).code, 0);
    assert_eq!(read(format!("{back}/copy/a/f")), "f");
}

#[test]
fn what_cannot_be_copied_is_refused() {
    let server = Server::start();
    assert_eq!(server.run(&["cp", "/no/such/file", "box:"]).code, 4);
    assert_eq!(server.run(&["cp", "one:a", "two:b"]).code, 3);
    assert_eq!(server.run(&["cp", "/dev/null", "box:null"]).code, 3);
}
