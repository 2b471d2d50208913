//! Wiring: store, controllers, agent and HTTP put together and run.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base::{Cause, Error, Result};
use control::{Control, SystemClock, node, worker};
use deliver::Way;
use engine::Engine;
use engine::remote::AgentEngine;
use futures_util::FutureExt;
use store::lease::{self, Kind};
use tokio::task::JoinSet;

use crate::limits::Limits;
use crate::reach::Agents;
use crate::secrets::{self, KeySource};
use crate::state::App;
use crate::{first_run, listen, prices, router};

/// How a server should run.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// Address to answer on.
    pub listen: SocketAddr,
    /// `sqlite://…` or `postgres://…`.
    pub database: String,
    /// Socket of this machine's agent; `None` for a server without one of its own.
    pub agent_socket: Option<PathBuf>,
    /// Where the first operator's one-time password is left, readable by the owner only.
    pub first_login: PathBuf,
    /// Keys that seal secrets in the database.
    pub keys: KeySource,
    /// What one caller may take of the server.
    pub limits: Limits,
    /// Every mail becomes a file here instead of being sent.
    pub mail_folder: Option<PathBuf>,
    /// The operator's program that finds out who somebody is.
    pub identity_command: Option<PathBuf>,
}

/// How long open requests may take after the end was asked for.
const LAST_REQUESTS: Duration = Duration::from_secs(5);

/// Runs until `shutdown` ends. `told` is called once everything answers.
///
/// # Errors
/// The address is taken, the database cannot be opened, or the agent's isolation
/// does not allow this address.
pub async fn run(
    config: ServeConfig,
    shutdown: impl Future<Output = ()> + Send + 'static,
    told: impl FnOnce(Started) + Send,
) -> Result<()> {
    let listener = tokio::net::TcpListener::bind(config.listen).await.map_err(|e| {
        Error::new(Cause::Unavailable, format!("the address {} cannot be used: {e}", config.listen))
            .hint("choose another with --listen, for example 127.0.0.1:8081")
    })?;
    let address = listener.local_addr().map_err(Error::internal)?;
    let mut limits = config.limits;
    limits.connections = limits.connections.min(listen::raise_open_files()?);
    let (keys, new_key) = config.keys.read()?;
    let store = store::open(&config.database).await?.with_keys(keys).await?;
    store.write(|tx| lease::take_back(tx).boxed()).await?;
    let clock = Arc::new(SystemClock::start());
    let book = prices::current(&store, control::Clock::now(&*clock)).await?;
    let control = Control::<SystemClock, AgentEngine>::new(store.clone(), clock.clone());
    let reach = Arc::new(Agents(control.engines.clone()));
    let app = App::new(store, clock, reach, control.metrics.clone(), book)
        .with_limits(limits.clone())
        .with_way(Way { folder: config.mail_folder.clone(), address: format!("http://{address}") })
        .with_identity_command(config.identity_command.clone());
    let password = first_run::operator(&app).await?;
    if let Some(password) = &password {
        leave_password(&config.first_login, password)?;
    }
    let mut tasks = JoinSet::new();
    let mut isolation = None;
    if let Some(socket) = &config.agent_socket {
        let engine = Arc::new(AgentEngine::unix(socket));
        let info = engine.info().await?;
        if info.isolation == "none" && !address.ip().is_loopback() {
            return Err(Error::new(Cause::NotOffered, "this machine cannot keep instances apart, so the server does not answer on a public address")
                .hint("use --listen 127.0.0.1:8080, or run on a machine with bubblewrap and user namespaces (`suanli doctor`)"));
        }
        isolation = Some(info.isolation);
        let node = node::register(&control, engine.clone()).await?;
        tasks.spawn(node::run(control.clone(), engine, node));
    }
    for kind in Kind::ALL {
        tasks.spawn(worker::run(control.clone(), kind));
    }
    tasks.spawn(control::retention::run(control.clone()));
    tasks.spawn(control::events::run(control));
    tasks.spawn(prices::follow(app.clone()));
    tasks.spawn(secrets::run(app.store.clone(), config.keys.clone()));
    let clock = app.clock.clone();
    let now = Arc::new(move || control::Clock::now(&*clock));
    tasks.spawn(deliver::worker::run(app.store.clone(), (*app.way).clone(), now));
    let new_key = new_key.map(std::path::Path::to_owned);
    told(Started { address, password, isolation, new_key });
    let (ending, mut ended) = tokio::sync::watch::channel(false);
    tasks.spawn(async move {
        shutdown.await;
        let _ = ending.send(true);
    });
    let observed = app.observed.clone();
    let serving = listen::serve(listener, router(app), limits, observed, ended.clone());
    tokio::select! {
        done = serving => done?,
        // Event streams and terminals never end by themselves: after a moment they are cut.
        () = async { let _ = ended.wait_for(|e| *e).await; tokio::time::sleep(LAST_REQUESTS).await } => {}
    }
    tasks.shutdown().await;
    Ok(())
}

/// What a server tells once it answers.
#[derive(Clone, Debug)]
pub struct Started {
    /// Where it answers.
    pub address: SocketAddr,
    /// One-time password of the first operator, on the first start only.
    pub password: Option<String>,
    /// How this machine keeps instances apart.
    pub isolation: Option<String>,
    /// The key file that this start has made.
    pub new_key: Option<PathBuf>,
}

fn leave_password(path: &std::path::Path, password: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let text = format!("user {}\npassword {password}\n", first_run::OPERATOR);
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written
        .map_err(|e| Error::new(Cause::Unavailable, "the first password cannot be written beside the data").context(e))
}
