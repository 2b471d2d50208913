//! Backup and restore between both databases, and what is refused.

use std::path::{Path, PathBuf};

use base::{Cause, Money};
use sqlx::{AnyConnection, Connection, Executor};
use store::backup::{self, Kind};
use store::{Store, audit, intents, nodes, segments};

use crate::db::{Db, both, write};
use crate::fixture::{Site, T0, at, number, rent, site, top_up, wish};
use crate::segments::open;

/// The whole backup of a store.
pub async fn dump(store: &Store) -> Vec<u8> {
    let (send, mut receive) = tokio::sync::mpsc::channel(1);
    let from = store.clone();
    let work = tokio::spawn(async move { backup::stream(&from, at(500), send).await });
    let mut all = Vec::new();
    while let Some(piece) = receive.recv().await {
        assert!(piece.len() < 256 * 1024, "a piece is handed on before it grows");
        all.extend(piece);
    }
    work.await.unwrap().unwrap();
    all
}

/// An empty place of the same kind of database, and a folder for files.
pub struct Empty {
    pub url: String,
    folder: tempfile::TempDir,
    drop: Option<(String, String)>,
}

impl Empty {
    pub async fn like(db: &Db) -> Self {
        let folder = tempfile::tempdir().unwrap();
        if db.url.starts_with("sqlite") {
            let url = format!("sqlite://{}", folder.path().join("new/suanli.db").display());
            std::fs::create_dir(folder.path().join("new")).unwrap();
            return Self { url, folder, drop: None };
        }
        let server = std::env::var("SUANLI_TEST_POSTGRES").unwrap();
        let name = format!("test_{:032x}", rand::random::<u128>());
        let url = format!("{}/{name}", server.rsplit_once('/').unwrap().0);
        let mut admin = AnyConnection::connect(&server).await.unwrap();
        admin.execute(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
        Self { url, folder, drop: Some((server, name)) }
    }

    pub fn file(&self, data: &[u8]) -> PathBuf {
        let path = self.folder.path().join("backup.jsonl");
        std::fs::write(&path, data).unwrap();
        path
    }

    /// Whether it is as it was made.
    pub async fn is_untouched(&self) -> bool {
        if self.drop.is_none() {
            return std::fs::read_dir(self.folder.path().join("new")).unwrap().next().is_none();
        }
        let mut db = AnyConnection::connect(&self.url).await.unwrap();
        let sql = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = current_schema()";
        sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut db).await.unwrap() == 0
    }

    pub async fn end(self) {
        if let Some((server, name)) = self.drop {
            let mut admin = AnyConnection::connect(&server).await.unwrap();
            admin.execute(sqlx::AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"))).await.unwrap();
        }
    }
}

/// A row in every table, some with awkward texts; the same on every database.
async fn full(store: &Store) -> Site {
    let site = site(store, 3, "100").await;
    open(store, &site, 1, at(0)).await;
    let done = open(store, &site, 2, at(0)).await;
    let awkward = "Ünïcode \u{1F680} \"quoted\", [1,2]\nline\ttab \\ '; DROP TABLE x; --".to_owned();
    let (id, node, account, user) = (done.instance, site.node.clone(), site.account.clone(), site.user.clone());
    let device = site.devices[0].clone();
    let key = store::idempotency::Key { user: user.clone(), key: "k".into(), request: awkward.clone() };
    write!(store, |tx, id, node, account, user, device, key, awkward| {
        segments::close(tx, &id, at(30), "by-renter", at(30)).await?;
        let gap = segments::Gap { from: at(1), to: at(2), why: awkward.clone() };
        segments::record_gap(tx, &node, &gap).await?;
        nodes::proven(tx, &node, at(40), "boot-1", at(40)).await?;
        store::allocations::take(tx, &device, &id, 1, at(1)).await?;
        store::idempotency::remember(tx, &key, &awkward, at(1)).await?;
        store::incidents::open(tx, at(3), "clock-step", node.as_str(), "look", &awkward).await?;
        let token = base::TokenId::new(T0, 5);
        crate::people::laptop(tx, &token, &user, at(100)).await?;
        store::events::sequence(tx).await?;
        let data = serde_json::json!({ "n": i64::MAX });
        store::events::record(tx, at(4), Some(&account), "x", "odd", &awkward, &data).await?;
        people(tx, &user, &account).await?;
        store::site::set(tx, "note", &awkward).await
    })
    .unwrap();
    site
}

/// One row in each table of people.
async fn people(tx: &mut store::Tx<'_>, user: &base::UserId, account: &base::AccountId) -> store::Outcome<()> {
    for sql in [
        "INSERT INTO api_tokens (id, user_id, hash, name, scopes, account_id, created_at, expires_at)
         VALUES ('tok-x', $1, 'h1', 'ci', '[]', $2, 1, 2)",
        "INSERT INTO recovery_codes (user_id, hash) SELECT $1, 'h' WHERE $2 <> ''",
        "INSERT INTO identities (provider, subject, user_id, created_at) SELECT 'p', 's', $1, 1 WHERE $2 <> ''",
        "INSERT INTO oidc_flows (state_hash, provider, data, expires_at) SELECT $1, 'p', 'd', 1 WHERE $2 <> ''",
        "INSERT INTO mail_links (hash, user_id, purpose, email, created_at, expires_at)
         SELECT 'h', $1, 'reset', 'ann@example.org', 1, 2 WHERE $2 <> ''",
        "INSERT INTO invitations (id, hash, role, created_by, account_id, created_at, expires_at)
         VALUES ('inv-x', 'h', 'member', $1, $2, 1, 2)",
        "INSERT INTO ssh_keys (id, user_id, name, fingerprint, key, created_at)
         SELECT 'key-x', $1, 'laptop', 'SHA256:x', 'ssh-ed25519 AAAA', 1 WHERE $2 <> ''",
        "INSERT INTO quotas (account_id, kind, most) SELECT $2, 'cards', 4 WHERE $1 <> ''",
        "INSERT INTO audit_log (id, at, actor_kind, action, actor_id, object, result)
         VALUES ('log-x', 1, 'user', 'rent', $1, $2, 'done')",
        "INSERT INTO outbox (id, kind, recipient, data, created_at) SELECT 'msg-x', 'mail', $1, 'd', 1 WHERE $2 <> ''",
    ] {
        sqlx::query(sql).bind(user.as_str()).bind(account.as_str()).execute(&mut **tx).await?;
    }
    Ok(())
}

async fn a_backup_comes_back_whole(db: &Db) {
    let site = full(&db.store).await;
    let text = dump(&db.store).await;
    let lines: Vec<&[u8]> = text.split(|b| *b == b'\n').filter(|l| !l.is_empty()).collect();
    for line in &lines {
        serde_json::from_slice::<serde_json::Value>(line).unwrap();
    }
    let to = Empty::like(db).await;
    let done = backup::restore(&to.url, &to.file(&text), at(600)).await.unwrap();
    assert_eq!(done.header.made_at, at(500));
    assert_eq!(done.rows["segments"], 2);
    assert!(done.rows.values().all(|n| *n > 0), "every table is tried: {:?}", done.rows);
    let restored = store::open(&to.url).await.unwrap();
    assert_eq!(number(&restored, "SELECT COUNT(*) FROM site WHERE key = 'recovery'").await, 1);
    {
        let mut raw = restored.read().await.unwrap();
        sqlx::query("DELETE FROM site WHERE key = 'recovery'").execute(&mut *raw).await.unwrap();
    }
    assert!(dump(&restored).await == text, "backed up again it is the same text");
    assert_eq!(restored.snapshot(|c| Box::pin(audit::run(c))).await.unwrap().differences, Vec::<String>::new());
    let mut read = restored.read().await.unwrap();
    let account = store::accounts::get(&mut read, &site.account).await.unwrap().unwrap();
    assert_eq!(account.balance, "100".parse::<Money>().unwrap());
    drop(read);
    // It is a site that goes on: the same card is still held by one alone.
    top_up(&restored, &site.account, "5".parse().unwrap(), "second").await;
    rent(&restored, &site, 9).await;
    to.end().await;
}

#[tokio::test]
async fn both_databases_write_the_same_text_and_take_each_others() {
    let Some(postgres) = Db::postgres().await else { return };
    let sqlite = Db::sqlite().await;
    full(&sqlite.store).await;
    full(&postgres.store).await;
    let (one, other) = (dump(&sqlite.store).await, dump(&postgres.store).await);
    assert_eq!(String::from_utf8(one.clone()).unwrap(), String::from_utf8(other).unwrap());
    for place in [&sqlite, &postgres] {
        let to = Empty::like(place).await;
        backup::restore(&to.url, &to.file(&one), at(600)).await.unwrap();
        let restored = store::open(&to.url).await.unwrap();
        restored.write(|tx| Box::pin(async move { store::site::remove(tx, "recovery").await })).await.unwrap();
        assert!(dump(&restored).await == one);
        to.end().await;
    }
    postgres.end().await;
}

async fn no_table_is_forgotten(db: &Db) {
    let mut raw = db.store.read().await.unwrap();
    // What a later release may add, with the one type that is not used yet.
    for sql in [
        "CREATE TABLE zz_later (a BIGINT NOT NULL, b TEXT NOT NULL REFERENCES accounts (id), c BYTEA, PRIMARY KEY (b, a))",
        "CREATE TABLE aa_later (id TEXT PRIMARY KEY, z TEXT NOT NULL, FOREIGN KEY (z) REFERENCES later_still (id))",
        "CREATE TABLE later_still (id TEXT PRIMARY KEY)",
    ] {
        // Some references are made before what they refer to.
        if let Err(error) = raw.execute(sql).await {
            assert!(sql.contains("aa_later"), "{error}");
            raw.execute("CREATE TABLE later_still (id TEXT PRIMARY KEY)").await.unwrap();
            raw.execute(sql).await.unwrap();
            break;
        }
    }
    drop(raw);
    let site = full(&db.store).await;
    let mut raw = db.store.read().await.unwrap();
    sqlx::query("INSERT INTO zz_later (a, b, c) VALUES (7, $1, $2), (-8, $1, NULL)")
        .bind(site.account.as_str())
        .bind(&b"\x00\xff"[..])
        .execute(&mut *raw)
        .await
        .unwrap();
    let tables = backup::tables(&mut raw, db.store.dialect()).await.unwrap();
    drop(raw);
    let names: Vec<_> = tables.iter().map(|t| t.name.as_str()).collect();
    let migrations = [include_str!("../../migrations/0001_start.sql"), include_str!("../../migrations/0002_site.sql")];
    for sql in migrations {
        for made in sql.lines().filter_map(|l| l.strip_prefix("CREATE TABLE ")) {
            let made = made.split(' ').next().unwrap();
            assert!(names.contains(&made), "{made} is not in {names:?}");
        }
    }
    let place = |name| names.iter().position(|n| *n == name).unwrap();
    assert!(place("later_still") < place("aa_later") && place("accounts") < place("zz_later"));
    let later = &tables[place("zz_later")];
    assert_eq!(later.key, ["b", "a"]);
    assert_eq!(later.columns[2].kind, Kind::Bytes);
    let text = String::from_utf8(dump(&db.store).await).unwrap();
    let at = text.find("{\"table\":\"zz_later\"").unwrap();
    let rows: Vec<_> = text[at..].lines().skip(1).take(2).collect();
    let id = &site.account;
    assert_eq!(rows, [format!("[-8,\"{id}\",null]"), format!("[7,\"{id}\",\"00ff\"]")]);
}

async fn a_table_that_a_backup_cannot_hold_is_told(db: &Db) {
    let mut raw = db.store.read().await.unwrap();
    raw.execute("CREATE TABLE no_key (a TEXT)").await.unwrap();
    drop(raw);
    let (send, _receive) = tokio::sync::mpsc::channel(100);
    let error = backup::stream(&db.store, T0, send).await.unwrap_err();
    assert!(error.context_text().unwrap().contains("no_key has no primary key"), "{error}");
}

async fn refused(to: &Empty, file: &Path, cause: Cause, words: &str) {
    let error = backup::restore(&to.url, file, T0).await.unwrap_err();
    assert_eq!(error.cause(), cause, "{error}");
    assert!(error.message().contains(words), "{error}");
    assert!(error.hint_text().is_some(), "{error}");
    assert!(to.is_untouched().await, "{words}: something is left behind");
}

async fn what_is_not_a_whole_backup_leaves_nothing_behind(db: &Db) {
    full(&db.store).await;
    let text = dump(&db.store).await;
    let to = Empty::like(db).await;
    refused(&to, Path::new("/nowhere/backup"), Cause::NotFound, "cannot be read").await;
    refused(&to, &to.file(b"hello\n"), Cause::InvalidRequest, "not a backup").await;
    refused(&to, &to.file(b""), Cause::InvalidRequest, "not a backup").await;
    let ends: Vec<usize> = text.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1).collect();
    for cut in [ends[0], ends[ends.len() / 2], ends[ends.len() / 2] - 3, ends[ends.len() - 2]] {
        refused(&to, &to.file(&text[..cut]), Cause::InvalidRequest, "cut off").await;
    }
    let mut changed = text.clone();
    let place = changed.windows(4).position(|w| w == b"boot").unwrap();
    changed[place] = b'B';
    refused(&to, &to.file(&changed), Cause::InvalidRequest, "checksum").await;
    refused(&to, &to.file(&[&text[..], b"[1]\n"].concat()), Cause::InvalidRequest, "follows").await;
    let newer = String::from_utf8(text.clone()).unwrap().replacen("\"schema\":", "\"schema\":99", 1);
    refused(&to, &to.file(newer.as_bytes()), Cause::HostIncomplete, "newer server").await;
    to.end().await;
}

/// Right by its checksum, wrong for the database: the whole transaction is undone.
async fn a_row_that_the_schema_refuses_undoes_all(db: &Db) {
    full(&db.store).await;
    let text = String::from_utf8(dump(&db.store).await).unwrap();
    let (body, _) = text.trim_end().rsplit_once('\n').unwrap();
    let body =
        format!("{}\n", body.replace(&format!("\"owner\",{}]", T0.micros()), &format!("\"emperor\",{}]", T0.micros())));
    use sha2::Digest;
    let sum = hex::encode(sha2::Sha256::digest(body.as_bytes()));
    let last = text.trim_end().rsplit_once('\n').unwrap().1;
    let (head, _) = last.split_once("\"sha256\"").unwrap();
    let forged = format!("{body}{head}\"sha256\":\"{sum}\"}}}}\n");
    let to = Empty::like(db).await;
    let error = backup::restore(&to.url, &to.file(forged.as_bytes()), T0).await.unwrap_err();
    assert_eq!(error.cause(), Cause::Internal, "{error}");
    assert!(to.is_untouched().await);
    to.end().await;
}

async fn only_an_empty_place_is_restored_into(db: &Db) {
    full(&db.store).await;
    let text = dump(&db.store).await;
    let to = Empty::like(db).await;
    let before = number(&db.store, "SELECT COUNT(*) FROM postings").await;
    let error = backup::restore(&db.url, &to.file(&text), T0).await.unwrap_err();
    assert_eq!(error.cause(), Cause::AlreadyExists, "{error}");
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM postings").await, before);
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM site WHERE key = 'recovery'").await, 0);
    to.end().await;
}

async fn a_restored_site_takes_no_wishes(db: &Db) {
    let site = full(&db.store).await;
    let to = Empty::like(db).await;
    backup::restore(&to.url, &to.file(&dump(&db.store).await), at(600)).await.unwrap();
    let restored = store::open(&to.url).await.unwrap();
    for kind in store::lease::Kind::ALL {
        let claimed = restored.write(move |tx| Box::pin(store::lease::claim(tx, kind, at(9_999), 100))).await.unwrap();
        assert!(claimed.is_empty(), "{kind:?}");
    }
    let new = wish(&site, 77);
    let rented = write!(restored, |tx, new| intents::rent(tx, &new, Money::ZERO, None, at(700)).await);
    assert_eq!(rented.unwrap_err().cause(), Cause::InRecovery);
    let (id, reason) = (wish(&site, 1).id, crate::fixture::by_renter());
    let stopped = write!(restored, |tx, id, reason| intents::stop(tx, &id, &reason, at(700)).await);
    assert_eq!(stopped.unwrap_err().cause(), Cause::InRecovery);
    let released = write!(restored, |tx, id, reason| intents::release(tx, &id, &reason, at(700)).await);
    assert_eq!(released.unwrap_err().cause(), Cause::InRecovery);
    let restart = intents::Restart { instance: wish(&site, 1), hold: Money::ZERO };
    let started = write!(restored, |tx, id, restart| intents::start(tx, &id, &restart, at(700)).await);
    assert_eq!(started.unwrap_err().cause(), Cause::InRecovery);
    to.end().await;
}

both!(
    a_backup_comes_back_whole,
    no_table_is_forgotten,
    a_table_that_a_backup_cannot_hold_is_told,
    what_is_not_a_whole_backup_leaves_nothing_behind,
    a_row_that_the_schema_refuses_undoes_all,
    only_an_empty_place_is_restored_into,
    a_restored_site_takes_no_wishes,
);
