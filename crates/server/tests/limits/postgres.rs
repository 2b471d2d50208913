//! PostgreSQL goes away under a whole server that is being written to.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use server::limits::Limits;
use server::serve::ServeConfig;
use sqlx::{AnyConnection, Connection};
use tokio::sync::oneshot;

use crate::raw::{Raw, request};
use crate::served::{generous, until, within};
use crate::site::Person;

const WRITERS: usize = 8;

/// A PostgreSQL of our own, whose data outlive its process.
struct Cluster {
    folder: tempfile::TempDir,
    port: u16,
    server: Option<Child>,
}

impl Cluster {
    /// `None` only where the run asked for SQLite alone with `FAST=1`.
    async fn new() -> Option<Self> {
        if std::env::var("FAST").is_ok_and(|v| v == "1") {
            return None;
        }
        // Not the usual folder for temporary files: the database runs as another user, who must get there.
        let folder = tempfile::Builder::new().prefix("suanli-postgres.").tempdir_in("/tmp").unwrap();
        if let Some((uid, gid)) = other_user() {
            chown(folder.path(), Some(uid), Some(gid)).unwrap();
        }
        let mut initdb = as_other_user("initdb");
        initdb.arg("-D").arg(folder.path().join("data")).args(["-U", "suanli", "--auth", "trust", "--no-sync"]);
        let done = initdb.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut cluster = Self { folder, port, server: None };
        cluster.start().await;
        Some(cluster)
    }

    fn url(&self) -> String {
        format!("postgres://suanli@127.0.0.1:{}/postgres", self.port)
    }

    async fn start(&mut self) {
        let mut command = as_other_user("postgres");
        command.arg("-D").arg(self.folder.path().join("data")).args(["-p", &self.port.to_string()]);
        // Its process may die, the machine does not: no flush is needed, but commits wait for their log.
        command.arg("-k").arg(self.folder.path());
        command.args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "synchronous_commit=on"]);
        self.server = Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        sqlx::any::install_default_drivers();
        within(async {
            while AnyConnection::connect(&self.url()).await.is_err() {
                assert!(self.server.as_mut().unwrap().try_wait().unwrap().is_none(), "PostgreSQL ended");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        })
        .await;
    }

    /// INT: it ends its sessions and exits. QUIT: it exits as if it had crashed.
    fn stop(&mut self, signal: Signal) {
        let mut server = self.server.take().unwrap();
        kill_process(Pid::from_child(&server), signal).unwrap();
        server.wait().unwrap();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.server.is_some() {
            self.stop(Signal::QUIT);
        }
    }
}

fn programs() -> PathBuf {
    let versions =
        std::fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is not installed, and FAST=1 is not set");
    let found = versions.filter_map(|v| Some(v.ok()?.path().join("bin"))).filter(|bin| bin.join("postgres").exists());
    found.max().expect("PostgreSQL's server programs are not installed, and FAST=1 is not set")
}

/// PostgreSQL refuses to run as root.
fn other_user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let ids = |name: &str| {
        let fields: Vec<&str> = users.lines().find(|l| l.starts_with(&format!("{name}:")))?.split(':').collect();
        Some((fields[2].parse().unwrap(), fields[3].parse().unwrap()))
    };
    Some(ids("postgres").or_else(|| ids("nobody")).unwrap())
}

/// A program of PostgreSQL that ends even when this test is killed outright.
fn as_other_user(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).current_dir("/").stdin(Stdio::null());
    if let Some((uid, gid)) = other_user() {
        command.args(["--reuid", &uid.to_string(), "--regid", &gid.to_string(), "--clear-groups"]);
    }
    command.arg(programs().join(program));
    command
}

/// The server as `suanli serve` runs it, without a machine of its own.
async fn serve(url: &str, folder: &Path, ends: oneshot::Receiver<()>) -> (SocketAddr, String) {
    let config = ServeConfig {
        listen: "127.0.0.1:0".parse().unwrap(),
        database: url.to_owned(),
        agent_socket: None,
        first_login: folder.join("first-login.txt"),
        keys: server::secrets::KeySource::File(folder.join("secret.key")),
        limits: Limits { answer: std::time::Duration::from_secs(30), ..generous() },
        mail_folder: None,
        identity_command: None,
    };
    let (tell, told) = oneshot::channel();
    tokio::spawn(server::serve::run(config, async { drop(ends.await) }, |started| tell.send(started).unwrap()));
    let started = within(told).await.unwrap();
    (started.address, started.password.unwrap())
}

#[derive(Default)]
struct Counts {
    confirmed: [AtomicUsize; WRITERS],
    refused: AtomicUsize,
}

impl Counts {
    fn least(&self) -> usize {
        self.confirmed.iter().map(|n| n.load(Ordering::SeqCst)).min().unwrap()
    }
}

/// Writes one after the other, each with a key of its own, and repeats what was
/// refused; the postings that were confirmed.
async fn write(
    address: SocketAddr,
    operator: Arc<Person>,
    n: usize,
    counts: Arc<Counts>,
    mut ends: tokio::sync::watch::Receiver<bool>,
) -> Vec<String> {
    let mut raw = Raw::connect(address).await;
    let mut postings = Vec::new();
    while !*ends.borrow_and_update() {
        let key = format!("writer-{n}-{}", postings.len());
        loop {
            let body = json!({ "amount": "1" });
            let path = format!("/v1/accounts/account-{n}/topups");
            let top_up = request("POST", &path, Some(&operator), Some(&body), &[("idempotency-key", &key)]);
            let answer = raw.ask(&top_up).await;
            if answer.status == 201 {
                postings.push(answer.json()["posting"].as_str().unwrap().to_owned());
                counts.confirmed[n].fetch_add(1, Ordering::SeqCst);
                break;
            }
            answer.refusal(503, "unavailable");
            assert!(answer.wait() > 0);
            counts.refused.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
    postings
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_restarts_costs_nothing_that_was_confirmed_and_the_server_goes_on_by_itself() {
    let Some(mut cluster) = Cluster::new().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (end, ends) = oneshot::channel();
    let (address, password) = serve(&cluster.url(), folder.path(), ends).await;
    assert_eq!(std::fs::metadata(folder.path().join("first-login.txt")).unwrap().mode() & 0o777, 0o600);
    let mut raw = Raw::connect(address).await;
    let log_in = json!({ "user": "operator", "password": password });
    let token = raw.ask(&request("POST", "/v1/login", None, Some(&log_in), &[])).await.json()["token"].clone();
    let operator = Arc::new(Person {
        id: base::UserId::new(base::Timestamp::EPOCH, 0),
        token: token.as_str().unwrap().to_owned(),
    });
    for n in 0..WRITERS {
        let account = json!({ "name": format!("account-{n}") });
        assert_eq!(raw.ask(&request("POST", "/v1/accounts", Some(&operator), Some(&account), &[])).await.status, 201);
    }
    let counts = Arc::new(Counts::default());
    let (stop, stops) = tokio::sync::watch::channel(false);
    let writers: Vec<_> = (0..WRITERS)
        .map(|n| tokio::spawn(write(address, operator.clone(), n, counts.clone(), stops.clone())))
        .collect();
    for signal in [Signal::INT, Signal::QUIT] {
        let (least, refused) = (counts.least(), counts.refused.load(Ordering::SeqCst));
        until(|| counts.least() >= least + 5).await;
        cluster.stop(signal);
        // It stays away until somebody has been told.
        until(|| counts.refused.load(Ordering::SeqCst) > refused).await;
        cluster.start().await;
    }
    let least = counts.least();
    until(|| counts.least() >= least + 5).await;
    stop.send(true).unwrap();
    let mut all = BTreeSet::new();
    let mut conn = AnyConnection::connect(&cluster.url()).await.unwrap();
    for (n, writer) in writers.into_iter().enumerate() {
        let confirmed = within(writer).await.unwrap();
        let there: Vec<String> = sqlx::query_scalar(
            "SELECT p.id FROM postings p JOIN accounts a ON a.id = p.account_id WHERE a.name = $1 ORDER BY p.id",
        )
        .bind(format!("account-{n}"))
        .fetch_all(&mut conn)
        .await
        .unwrap();
        let confirmed: BTreeSet<String> = confirmed.into_iter().collect();
        assert_eq!(there.len(), confirmed.len(), "account-{n}: nothing twice, nothing unasked");
        assert_eq!(there.into_iter().collect::<BTreeSet<_>>(), confirmed);
        all.extend(confirmed);
    }
    let audit = raw.ask(&request("GET", "/v1/audit", Some(&operator), None, &[])).await.json();
    assert_eq!(audit["differences"], json!([]));
    assert_eq!(audit["postings"], all.len());
    // Its own loops go on too: every event gets its place, and it calls itself ready.
    within(async {
        loop {
            let waiting: i64 =
                sqlx::query_scalar("SELECT COUNT(*) FROM events WHERE seq IS NULL").fetch_one(&mut conn).await.unwrap();
            if waiting == 0 && raw.ask(&request("GET", "/readyz", None, None, &[])).await.status == 200 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
    end.send(()).unwrap();
}
