//! `suanli serve`: the server, and this machine's agent beside it.

pub mod engine;
mod host;
mod limits;
mod log;
mod own_agent;
pub mod place;
pub mod secret_key;
pub mod signal;
mod unprivileged;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use base::{Cause, Error, Result};
use clap::Args;
use server::serve::{ServeConfig, Started};

use crate::cli::Outcome;
use crate::output;
pub use log::logging;

/// Run the server; on one machine it brings up everything
///
/// The server runs as an ordinary user. The agent, which needs root for devices,
/// namespaces and cgroups, is started beside it: directly when you are root, with
/// sudo otherwise. Started by root, the server gives up root itself.
#[derive(Clone, Debug, Args)]
pub struct Serve {
    /// Folder for the database and the socket of the agent
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Address to answer on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// postgres://… instead of SQLite in the data folder
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// File with the key that seals secrets in the database; made on the first start.
    /// Default is /etc/suanli/secret.key for root, else ~/.config/suanli/secret.key.
    /// SUANLI_SECRET_KEY can hold the key itself instead
    #[arg(long, value_name = "FILE", env = secret_key::FILE)]
    secret_key: Option<PathBuf>,
    #[command(flatten)]
    engine: engine::EngineFlags,
    /// Fake cards instead of real ones: a profile file or the name of a built-in one
    #[arg(long, value_name = "PROFILE")]
    fake_gpus: Option<String>,
    /// NVML library to load instead of the system's
    #[arg(long, value_name = "PATH")]
    nvml_lib: Option<PathBuf>,
    /// Whether instances reach the outside
    #[arg(long, value_name = "nat|closed", default_value = "nat")]
    network: String,
    /// Network of yours that no instance may reach; may be given several times
    #[arg(long, value_name = "CIDR")]
    block: Vec<String>,
    /// Name of this node; default is the host name
    #[arg(long)]
    node_name: Option<String>,
    /// Socket of an agent that is kept running by somebody else, or by another server of this machine.
    /// Default is one of its own in the data folder
    #[arg(long, value_name = "FILE")]
    agent_socket: Option<PathBuf>,
    /// Folder for instances and evidence; default is below /var/lib/suanli where the agent is root
    #[arg(long, value_name = "DIR")]
    agent_state: Option<PathBuf>,
    /// User that the server becomes when root starts it; default is `suanli`, else `nobody`
    #[arg(long, value_name = "USER")]
    run_as: Option<String>,
    /// First user id for instances; a second server on one machine needs another range [default: 600000]
    #[arg(long, value_name = "UID", value_parser = clap::value_parser!(u32).range(1_000..2_000_000_000))]
    first_user: Option<u32>,
    /// Addresses for instances; a second server on one machine needs others [default: 10.231.0.0/16]
    #[arg(long, value_name = "CIDR")]
    subnet: Option<String>,
    /// Run instances as plain processes where this host cannot isolate them (loopback only)
    #[arg(long)]
    allow_no_isolation: bool,
    /// Write every mail into this folder as a file instead of sending it
    #[arg(long, value_name = "DIR")]
    mail_folder: Option<PathBuf>,
    /// Program that finds out who somebody is: JSON on its input, {"state": "verified"} on its output
    #[arg(long, value_name = "FILE")]
    identity_command: Option<PathBuf>,
    #[command(flatten)]
    limits: limits::LimitFlags,
}

impl Serve {
    /// Runs until it is told to end.
    pub async fn run(self) -> Outcome {
        logging();
        let data = self.data_folder()?;
        let socket = self.agent_socket.clone().unwrap_or_else(|| data.join("agent.sock"));
        let keys = secret_key::source(self.secret_key.as_deref(), &data)?;
        let agent = own_agent::ensure(&self, &data, &socket).await?;
        if unprivileged::is_root() {
            // From here on the work goes on in the same process under another user.
            return Err(unprivileged::become_user(self.run_as.as_deref(), &data, agent, &keys).into());
        }
        let database =
            self.database.clone().unwrap_or_else(|| format!("sqlite://{}", data.join("suanli.db").display()));
        let config = ServeConfig {
            listen: self.listen,
            database,
            agent_socket: Some(socket.clone()),
            first_login: data.join("first-login.txt"),
            keys,
            limits: self.limits.limits(),
            mail_folder: self.mail_folder.as_deref().map(mail_folder).transpose()?,
            identity_command: self.identity_command,
        };
        let first_login = config.first_login.clone();
        let done = server::serve::run(config, signal::ended()?, |started| tell(&started, &first_login)).await;
        own_agent::end(agent, &socket).await;
        done?;
        Ok(0)
    }

    fn data_folder(&self) -> Result<PathBuf> {
        let data = match &self.data {
            Some(data) => data.clone(),
            None if unprivileged::is_root() => PathBuf::from("/var/lib/suanli/server"),
            None => host::data_home()?.join("suanli"),
        };
        std::fs::create_dir_all(&data).and_then(|()| data.canonicalize()).map_err(|e| {
            Error::new(Cause::Unavailable, format!("the folder {} cannot be used: {e}", data.display()))
                .hint("choose another with --data")
        })
    }
}

/// The folder for mail, which has to be there before the first mail is written.
fn mail_folder(path: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(path).and_then(|()| path.canonicalize()).map_err(|e| {
        Error::new(Cause::Unavailable, format!("the folder {} cannot be used: {e}", path.display()))
            .hint("choose another with --mail-folder")
    })
}

/// What a person needs to go on, on standard output; the log is on standard error.
fn tell(started: &Started, first_login: &Path) {
    let url = format!("http://{}", started.address);
    let mut text = format!("suanli answers at {url}\n");
    if let Some(password) = &started.password {
        text.push_str(&format!(
            "first start: sign in with `suanli login {url} --user operator`, one-time password {password}\n\
             (shown once; also in {}, which you can delete)\n",
            first_login.display()
        ));
    }
    output::print(&text);
    if let Some(path) = &started.new_key {
        secret_key::tell(path);
    }
    if started.isolation.as_deref() == Some("none") {
        output::alarm(
            "NO ISOLATION: this host refuses namespaces, so instances run as plain processes. Only for trying out, only on loopback.",
        );
    }
}
