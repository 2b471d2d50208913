//! Verbs that work without a server: a backup restored, keys rotated and forgotten.
#![cfg(feature = "server")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::path::Path;
use std::process::{Command, Output};

use base::Timestamp;
use store::secrets::Keyring;

fn suanli(arguments: &[&str], key: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_suanli"))
        .args(arguments)
        .env_clear()
        .env("SUANLI_SECRET_KEY_FILE", key)
        .env("HOME", "/nonexistent")
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A backup of a fresh site that is sealed with the keys in `key`.
async fn backup(folder: &Path, key: &Path) -> std::path::PathBuf {
    let url = format!("sqlite://{}", folder.join("from.db").display());
    let keys = store::secrets::read_or_make(key).unwrap().0;
    let store = store::open(&url).await.unwrap().with_keys(keys).await.unwrap();
    let (send, mut receive) = tokio::sync::mpsc::channel(4);
    let work = tokio::spawn(async move { store::backup::stream(&store, Timestamp::EPOCH, send).await });
    let mut all = Vec::new();
    while let Some(piece) = receive.recv().await {
        all.extend(piece);
    }
    work.await.unwrap().unwrap();
    let file = folder.join("backup.jsonl");
    std::fs::write(&file, all).unwrap();
    file
}

#[tokio::test]
async fn a_backup_is_restored_once_and_names_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("secret.key");
    let file = backup(folder.path(), &key).await;
    let data = folder.path().join("data");
    let (file, place) = (file.to_str().unwrap(), data.to_str().unwrap());
    let id = store::secrets::read_or_make(&key).unwrap().0.ids().concat();

    let cut = folder.path().join("cut.jsonl");
    std::fs::write(&cut, &std::fs::read(file).unwrap()[..300]).unwrap();
    let refused = suanli(&["restore", cut.to_str().unwrap(), "--data", place], &key);
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
    assert!(said(&refused).contains("cut off"), "{}", said(&refused));
    assert!(!data.exists(), "what the refused restore has made is gone");

    let done = suanli(&["restore", file, "--data", place], &key);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(said(&done).contains(&id) && said(&done).contains("suanli recovery show"), "{}", said(&done));
    let again = suanli(&["restore", file, "--data", place], &key);
    assert_eq!(again.status.code(), Some(3), "{}", said(&again));
    assert!(said(&again).contains("already-exists"), "{}", said(&again));
}

#[tokio::test]
async fn a_key_goes_only_when_nothing_needs_it() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("secret.key");
    backup(folder.path(), &key).await;
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::rename(folder.path().join("from.db"), data.join("suanli.db")).unwrap();
    for ending in ["-wal", "-shm"] {
        let file = folder.path().join(format!("from.db{ending}"));
        if file.exists() {
            std::fs::rename(file, data.join(format!("suanli.db{ending}"))).unwrap();
        }
    }
    let place = data.to_str().unwrap();
    let old = store::secrets::read_or_make(&key).unwrap().0.ids().concat();
    let rotated = suanli(&["secret", "rotate"], &key);
    assert_eq!(rotated.status.code(), Some(0), "{}", said(&rotated));
    let listed = suanli(&["secret", "ls", "--data", place], &key);
    assert!(said(&listed).contains(&old), "{}", said(&listed));
    let refused = suanli(&["secret", "forget", &old, "--data", place], &key);
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
    assert!(said(&refused).contains("still need"), "{}", said(&refused));

    let keys = store::secrets::read_or_make(&key).unwrap().0;
    assert_eq!(keys.ids().len(), 2);
    let url = format!("sqlite://{}", data.join("suanli.db").display());
    let store = store::open(&url).await.unwrap().with_keys(keys).await.unwrap();
    store::secrets::rewrite(&store, "").await.unwrap();
    let gone = suanli(&["secret", "forget", &old, "--data", place], &key);
    assert_eq!(gone.status.code(), Some(0), "{}", said(&gone));
    let left: Keyring = store::secrets::read_or_make(&key).unwrap().0;
    assert!(!left.ids().contains(&old.as_str()) && left.ids().len() == 1);
}
