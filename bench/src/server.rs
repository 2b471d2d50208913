//! A server of our own, from its start to its end.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use api::account::{CreateAccount, TopUp};
use api::session::LoginRequest;
use base::{Cause, Error, Result};
use client::{Client, Key};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;

use crate::home::Home;
use crate::host;

/// How long a start may take, and an end.
const PATIENCE: Duration = Duration::from_secs(30);

/// `suanli serve` with eight fake cards, on loopback, in a folder that ends with it.
pub struct Server {
    child: Child,
    home: Home,
    /// Whether its agent was left behind by [`Self::kill`].
    killed: bool,
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
    let server = Server::start(Home::new()?, database).await?;
    let measured = measure(&server).await;
    let stopped = server.stop().await;
    let value = measured?;
    stopped.map(|()| value)
}

/// The same with two servers on one database, which share the agent of the first.
/// The measurement may kill the first one; at the end that is started once more,
/// as only it can end its agent.
///
/// # Errors
/// Those of the measurement, else of start and end.
pub async fn during_two<T>(database: &str, measure: impl AsyncFnOnce(&mut Server, &Server) -> Result<T>) -> Result<T> {
    let mut first = Server::start(Home::new()?, Some(database)).await?;
    let second = match Home::beside(&first.home) {
        Ok(home) => Server::start(home, Some(database)).await,
        Err(error) => Err(error),
    };
    let (measured, stopped) = match second {
        Ok(second) => (measure(&mut first, &second).await, second.stop().await),
        Err(error) => (Err(error), Ok(())),
    };
    let back = if first.killed { first.start_again(database).await } else { Ok(()) };
    let ended = first.stop().await;
    let value = measured?;
    stopped.and(back).and(ended).map(|()| value)
}

/// Has the server recompute its books, which must be right.
///
/// # Errors
/// They differ; the server's.
pub async fn audited(operator: &Client) -> Result<()> {
    let found = operator.audit().await?.differences;
    if found.is_empty() {
        return Ok(());
    }
    Err(Error::internal(format!("the books differ: {}", found.join("; "))))
}

impl Server {
    /// Starts one, on SQLite in its own folder or on the given database, and waits
    /// until it is ready.
    ///
    /// # Errors
    /// `SUANLI_BIN` is missing, or the server does not get ready; its log is in the error.
    async fn start(home: Home, database: Option<&str>) -> Result<Self> {
        let mut server = Self { child: home.spawn(database)?, home, killed: false };
        match server.ready().await {
            Ok(()) => Ok(server),
            Err(error) => {
                let log = server.log();
                server.stop().await?;
                Err(error.context(log))
            }
        }
    }

    /// Kills it as a crash would, if it runs. Returns when the signal was sent; it may
    /// end a moment later, which [`Self::start_again`] waits for. Its agent lives on.
    ///
    /// # Errors
    /// It had ended before.
    pub fn kill(&mut self) -> Result<Instant> {
        let at = Instant::now();
        self.child.start_kill().map_err(|e| Error::internal(e).context("the server ended by itself"))?;
        self.killed = true;
        Ok(at)
    }

    /// Waits for the end of one that was killed and starts it in the same place.
    ///
    /// # Errors
    /// As for the first start.
    pub async fn start_again(&mut self, database: &str) -> Result<()> {
        self.child.wait().await.map_err(Error::internal)?;
        self.child = self.home.spawn(Some(database))?;
        self.killed = false;
        match self.ready().await {
            Ok(()) => Ok(()),
            Err(error) => Err(error.context(self.log())),
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.home.log()).unwrap_or_default()
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
        self.home.address
    }

    /// The same as a URL.
    fn url(&self) -> String {
        format!("http://{}", self.home.address)
    }

    /// Somebody who is signed in at another server of the same database, as he uses this one.
    ///
    /// # Errors
    /// His token cannot be sent.
    pub fn client(&self, person: &Person) -> Result<Client> {
        Client::new(&self.url(), Some(&person.token))
    }

    /// Its SQLite database.
    pub fn sqlite(&self) -> String {
        format!("sqlite://{}", self.home.data().join("suanli.db").display())
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
        let text = std::fs::read_to_string(self.home.data().join("first-login.txt")).map_err(Error::internal)?;
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
        let request = LoginRequest { user: user.into(), password: password.into(), ..LoginRequest::default() };
        let begun = Client::new(&self.url(), None)?.login(&request).await?;
        let token = begun.token.ok_or_else(|| Error::internal("a login without a token"))?;
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
        self.home.folder.close().map_err(Error::internal)
    }
}
