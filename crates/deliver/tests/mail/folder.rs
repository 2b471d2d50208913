//! Mail into a folder, and the worker that runs by itself.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use base::Timestamp;
use deliver::{Letter, Way, worker};
use store::settings::Settings;

use crate::db::{Db, both, write};

const T0: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

async fn a_worker_writes_each_mail_as_a_file_of_its_owner(db: &Db) {
    let folder = tempfile::tempdir().unwrap();
    let way = Way { folder: Some(folder.path().to_owned()), address: "http://127.0.0.1:8080/".into() };
    let set = Settings::default();
    let running = tokio::spawn(worker::run(db.store.clone(), way.clone(), Arc::new(|| T0)));
    for to in ["a@example.org", "b@example.org"] {
        let (way, set, to) = (way.clone(), set.clone(), to.to_owned());
        write!(db.store, |tx, way, set, to| {
            let letter = Letter::Reset { user: "wei".into(), link: way.page(&set, "/reset#1") };
            way.write(tx, &set, &to, None, &letter, T0).await
        })
        .unwrap();
    }
    let eml = || {
        let files = std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().path());
        files.filter(|p| p.extension().is_some_and(|e| e == "eml")).collect::<Vec<_>>()
    };
    for _ in 0..400 {
        if eml().len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    running.abort();
    let files = eml();
    assert_eq!(files.len(), 2);
    for path in files {
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("\r\nhttp://127.0.0.1:8080/reset#1\r\n"), "{text}");
    }
}

both!(a_worker_writes_each_mail_as_a_file_of_its_owner);
