//! The agent: the only privileged process of a node. It knows the cards, runs the
//! instances, opens streams into them and keeps the proofs of life.

pub mod cards;
mod cgroup;
pub mod clock;
pub mod config;
mod containers;
pub mod evidence;
mod files;
mod guest;
mod meta;
mod node;
mod process;
mod routes;
mod runner;
mod sampler;
mod sandbox;
mod serve;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use base::{Cause, Error, Result};

pub use config::{AgentConfig, Cidr, EngineConfig, IncusConfig, NetworkConfig, NetworkMode};

/// The helper that runs inside instances, built with this crate.
static GUEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/suanli-guest"));

/// What an agent that was just killed had started holds its lock and its socket for
/// a moment longer.
async fn patiently<T>(take: impl Fn() -> Result<T>) -> Result<T> {
    for _ in 0..250 {
        match take() {
            Err(error) if error.cause() == Cause::AlreadyExists => tokio::time::sleep(PATIENCE).await,
            other => return other,
        }
    }
    take()
}

const PATIENCE: Duration = Duration::from_millis(20);

/// Runs the agent until `shutdown` completes. Instances go on without it.
///
/// # Errors
/// `already-exists` when another agent uses the state folder or the socket,
/// `host-incomplete`, `disk-full` or `engine-failed` when it cannot begin.
pub async fn run(config: AgentConfig, shutdown: impl Future<Output = ()> + Send) -> Result<()> {
    let mut config = config;
    std::fs::create_dir_all(&config.state_dir).map_err(|e| files::error("create", &config.state_dir, &e))?;
    config.state_dir = config.state_dir.canonicalize().map_err(|e| files::error("find", &config.state_dir, &e))?;
    // Others may pass through to what is theirs, and list nothing.
    files::folder(&config.state_dir, 0o711, None)?;
    // First of all: a second agent must not touch anything.
    let _only = patiently(|| files::only_one(&config.state_dir.join("lock"))).await?;
    let socket = patiently(|| serve::Socket::bind(&config.socket, config.socket_owner)).await?;

    let boot_id = clock::boot_id()?;
    let evidence = Arc::new(evidence::Evidence::open(&config.state_dir.join("evidence"), &boot_id)?);
    let node = config.name.clone().unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned());
    let (cards_config, now) = (config.clone(), evidence.now());
    let open = move || cards::Cards::open(&cards_config, &node, now);
    let cards = Arc::new(tokio::task::spawn_blocking(open).await.map_err(Error::internal)??);
    evidence.inventory(&cards.facts())?;
    let engine = node::Node::open(config, cards, evidence, GUEST).await?;
    let end = Arc::new(tokio::sync::Notify::new());
    let router = routes::router(engine.clone(), end.clone());
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "the agent is ready");
    tokio::select! {
        () = socket.serve(router) => {}
        () = sampler::run(engine) => {}
        () = end.notified() => {}
        () = shutdown => {}
    }
    Ok(())
}
