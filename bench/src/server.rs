//! A server of our own, from its start to its end.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use api::account::{CreateAccount, TopUp};
use api::session::LoginRequest;
use base::{Cause, Error, Result};
use client::{Client, Key};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::host;

/// How long a start may take, and an end.
const PATIENCE: Duration = Duration::from_secs(30);

/// `suanli serve` with eight fake cards, on loopback, in a folder that ends with it.
pub struct Server {
    child: Child,
    folder: TempDir,
    address: SocketAddr,
}

/// Somebody who is signed in.
pub struct Person {
    /// His client.
    pub client: Client,
    /// His bearer token.
    pub token: String,
}

/// Starts a server, has something measured on it, and ends it whatever happened.
///
/// # Errors
/// Those of the measurement, else of start and end.
pub async fn during<T>(database: Option<&str>, measure: impl AsyncFnOnce(&Server) -> Result<T>) -> Result<T> {
    let server = Server::start(database).await?;
    let measured = measure(&server).await;
    let stopped = server.stop().await;
    let value = measured?;
    stopped.map(|()| value)
}

impl Server {
    /// Starts one, on SQLite in its own folder or on the given database, limited
    /// to two cores, and waits until it is ready.
    ///
    /// # Errors
    /// `SUANLI_BIN` is missing, or the server does not get ready; its log is in the error.
    async fn start(database: Option<&str>) -> Result<Self> {
        let program = std::env::var_os("SUANLI_BIN").ok_or_else(|| {
            Error::new(Cause::HostIncomplete, "SUANLI_BIN is not set").hint("run through `make bench`")
        })?;
        let folder = folder()?;
        let address = free_address()?;
        let log = std::fs::File::create(folder.path().join("serve.log")).map_err(Error::internal)?;
        let mut command = Command::new("taskset");
        command.args(["-c", two_cores()]).arg(program);
        command.arg("serve").arg("--data").arg(folder.path().join("data"));
        command.arg("--agent-state").arg(folder.path().join("agent"));
        command.args(["--listen", &address.to_string(), "--fake-gpus", "rtx4090x8", "--network", "closed"]);
        // What is measured is the server, not its limit for one caller.
        command.args(["--requests-per-second", "0"]);
        if let Some(url) = database {
            command.args(["--database", url]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        // A group of its own: Ctrl-C is for the bench, which releases and ends in order.
        command.process_group(0);
        let child = command.spawn().map_err(|e| {
            Error::new(Cause::HostIncomplete, format!("the server cannot be started: {e}"))
                .hint("taskset is in the package util-linux")
        })?;
        let mut server = Self { child, folder, address };
        match server.ready().await {
            Ok(()) => Ok(server),
            Err(error) => {
                let log = std::fs::read_to_string(server.folder.path().join("serve.log")).unwrap_or_default();
                server.stop().await?;
                Err(error.context(log))
            }
        }
    }

    async fn ready(&mut self) -> Result<()> {
        let client = Client::new(&self.url(), None)?;
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(Error::new(Cause::Unavailable, format!("the server ended with {status}")));
            }
            if client.readyz().await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(Error::new(Cause::Unavailable, format!("the server was not ready within {PATIENCE:?}")))
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Its SQLite database.
    pub fn sqlite(&self) -> String {
        format!("sqlite://{}", self.data().join("suanli.db").display())
    }

    /// Its process.
    ///
    /// # Errors
    /// It ended.
    pub fn pid(&self) -> Result<u32> {
        self.child.id().ok_or_else(|| Error::new(Cause::Unavailable, "the server ended"))
    }

    /// The process of its agent.
    ///
    /// # Errors
    /// There is none.
    pub fn agent(&self) -> Result<u32> {
        let found = host::below(self.pid()?, "agent");
        found.ok_or_else(|| Error::internal("the server has no agent below it"))
    }

    /// Signs the first operator in.
    ///
    /// # Errors
    /// The password is not where the server leaves it, or the server's.
    pub async fn operator(&self) -> Result<Person> {
        let text = std::fs::read_to_string(self.data().join("first-login.txt")).map_err(Error::internal)?;
        let password = text.lines().find_map(|line| line.strip_prefix("password "));
        let password = password.ok_or_else(|| Error::internal("first-login.txt has no password"))?;
        self.log_in("operator", password).await
    }

    /// Makes an account with 100000 in it and signs its first user in.
    ///
    /// # Errors
    /// The server's.
    pub async fn renter(&self, operator: &Person, name: &str) -> Result<Person> {
        let wanted = CreateAccount { name: name.to_owned(), ..CreateAccount::default() };
        let made = operator.client.create_account(&wanted, &Key::fresh()).await?;
        let money = TopUp { amount: "100000".into(), note: None };
        operator.client.top_up(made.account.id.as_str(), &money, &Key::fresh()).await?;
        let password = made.password.ok_or_else(|| Error::internal("a new user without a password"))?;
        self.log_in(&made.user, &password).await
    }

    async fn log_in(&self, user: &str, password: &str) -> Result<Person> {
        let request = LoginRequest { user: user.into(), password: password.into(), name: None };
        let token = Client::new(&self.url(), None)?.login(&request).await?.token;
        Ok(Person { client: Client::new(&self.url(), Some(&token))?, token })
    }

    /// Ends it and removes its folder.
    ///
    /// # Errors
    /// It does not end, or the folder cannot be removed.
    async fn stop(mut self) -> Result<()> {
        if let Some(pid) = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            // One that ended meanwhile cannot be told, and need not be.
            let _ = kill_process(pid, Signal::TERM);
        }
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        if ended.is_err() {
            drop(self.child.start_kill());
            return Err(Error::internal(format!("the server did not end within {PATIENCE:?} and was killed")));
        }
        self.folder.close().map_err(Error::internal)
    }
}

/// A folder that the server's user and instances can pass through.
fn folder() -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("suanli-bench.").tempdir().map_err(Error::internal)?;
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).map_err(Error::internal)?;
    Ok(folder)
}

fn two_cores() -> &'static str {
    if host::cores() > 1 { "0,1" } else { "0" }
}

/// An address that was free a moment ago.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Error::internal)?;
    listener.local_addr().map_err(Error::internal)
}
