//! A store whose disk is full or read-only.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use base::Cause;
use control::{Clock, SystemClock};
use serde_json::{Value, json};
use server::App;

use crate::answer::Answer;
use crate::db::Db;
use crate::served::within;
use crate::site::{Site, Ways, request};

/// Names the folder for the small disk to the process that has mounts of its own.
const FOLDER: &str = "SUANLI_TEST_SMALL_DISK";

/// Runs `body` with a disk of a few megabytes, in a process of its own whose
/// mounts nobody else sees.
fn on_a_small_disk(test: &str, body: impl AsyncFnOnce(PathBuf)) {
    if let Some(folder) = std::env::var_os(FOLDER) {
        run(Command::new("mount").args(["-t", "tmpfs", "-o", "size=16m", "none"]).arg(&folder));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(body(folder.into()));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.arg("--mount");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]);
    run(command.env(FOLDER, folder.path()));
}

fn run(command: &mut Command) {
    let done = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&said));
}

async fn top_up(site: &Site, key: &str) -> Answer {
    let path = format!("/v1/accounts/{}/topups", site.alpha);
    let body = json!({ "amount": "1", "note": "n".repeat(2_000) });
    site.send(request("POST", &path, Some(&site.operator), Some(&body), &[("idempotency-key", key)])).await
}

/// Takes all room that is left.
fn fill(folder: &Path) -> PathBuf {
    let path = folder.join("filling");
    let mut file = std::fs::File::create(&path).unwrap();
    for size in [64 * 1024, 4096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    path
}

#[test]
fn a_full_disk_refuses_writes_alone_and_loses_nothing_sandbox() {
    let name = "disk::a_full_disk_refuses_writes_alone_and_loses_nothing_sandbox";
    on_a_small_disk(name, async |folder| {
        let url = format!("sqlite://{}", folder.join("suanli.db").display());
        let site = Site::new(&Db::at(&url).await).await;
        let mut confirmed: Vec<(String, Value)> = Vec::new();
        for n in 0..20 {
            let key = format!("before-{n}");
            let done = top_up(&site, &key).await.ok(201);
            confirmed.push((key, done["posting"].clone()));
        }
        let filling = fill(&folder);
        let mut refused = Vec::new();
        for n in 0..3_000 {
            let key = format!("during-{n}");
            let answer = top_up(&site, &key).await;
            if answer.status == 201 {
                confirmed.push((key, answer.ok(201)["posting"].clone()));
                assert!(refused.is_empty(), "there is no room, yet something was written");
                continue;
            }
            answer.says(503, "unavailable", &["disk is full", "reading goes on", "make room"]);
            assert_eq!(answer.header("retry-after"), "1");
            refused.push(key);
            // Reading goes on.
            let balance = site.get(&site.alice, "/v1/balance").await.ok(200);
            assert_eq!(balance["posted"]["micros"], 1_000_000 * (1000 + confirmed.len()), "{balance}");
            if refused.len() == 20 {
                break;
            }
        }
        assert_eq!(refused.len(), 20);
        // Many at once share one commit that fails: each is told the same.
        let many = (0..30).map(|n| {
            let site = &site;
            async move { top_up(site, &format!("group-{n}")).await }
        });
        for answer in futures_util::future::join_all(many).await {
            answer.says(503, "unavailable", &["disk"]);
        }

        std::fs::remove_file(filling).unwrap();
        // It recovers by itself, and what was refused can be repeated.
        refused.extend((0..30).map(|n| format!("group-{n}")));
        for key in refused {
            let done = within(async {
                loop {
                    let answer = top_up(&site, &key).await;
                    if answer.status == 201 {
                        return answer.ok(201);
                    }
                    answer.problem(503, "unavailable");
                }
            })
            .await;
            confirmed.push((key, done["posting"].clone()));
        }
        for (key, posting) in &confirmed {
            assert_eq!(top_up(&site, key).await.ok(201)["posting"], *posting, "{key}");
        }
        let posted = site.number("SELECT COUNT(*) FROM postings WHERE amount = 1000000").await;
        assert_eq!(usize::try_from(posted).unwrap(), confirmed.len());
        let audit = site.get(&site.operator, "/v1/audit").await.ok(200);
        assert_eq!(audit["differences"], json!([]));
        let mut conn = site.app.store.read().await.unwrap();
        let sound: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut *conn).await.unwrap();
        assert_eq!(sound, "ok");
    });
}

/// The same database, opened as the system opens it once it has made the disk read-only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_store_refuses_writes_alone() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let store = store::open(&format!("{}?mode=ro", db.url)).await.unwrap();
    let clock = Arc::new(SystemClock::start());
    let book = server::prices::current(&store, clock.now()).await.unwrap();
    let app = App::new(store, clock, Arc::new(Ways::default()), Arc::default(), book);
    let mut frozen = site;
    (frozen.router, frozen.app) = (server::router(app.clone()), app);
    let balance = frozen.get(&frozen.alice, "/v1/balance").await.ok(200);
    assert_eq!(balance["posted"]["micros"], 1_000_000_000);
    let answer = top_up(&frozen, "key").await;
    answer.says(503, "unavailable", &["read-only", "reading goes on", "rights of the database's folder"]);
    assert_eq!(answer.header("retry-after"), "1");
    assert_eq!(frozen.number("SELECT COUNT(*) FROM postings WHERE amount = 1000000").await, 0);
    db.end().await;
}

#[test]
fn a_disk_that_is_read_only_at_the_start_is_told_and_nothing_else_is_needed_once_it_is_not_sandbox() {
    let name = "disk::a_disk_that_is_read_only_at_the_start_is_told_and_nothing_else_is_needed_once_it_is_not_sandbox";
    on_a_small_disk(name, async |folder| {
        let url = format!("sqlite://{}", folder.join("suanli.db").display());
        let remount = |how: &str| {
            run(Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(&folder));
        };
        remount("ro");
        let error = store::open(&url).await.err().unwrap();
        assert_eq!(error.cause(), Cause::Unavailable, "{error}");
        assert!(error.hint_text().is_some_and(|hint| hint.contains("rights")), "{error}");
        remount("rw");
        let site = Site::new(&Db::at(&url).await).await;
        top_up(&site, "key").await.ok(201);
    });
}
