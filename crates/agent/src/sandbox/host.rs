//! What this host can do for instances, found out once at start by trying.

use std::path::{Path, PathBuf};

use base::{Cause, Error, Result};

use super::bwrap::Base;
use super::network::Network;
use super::spawn::{self, Entry};
use super::{command, seccomp};
use crate::cgroup::Cgroups;
use crate::config::AgentConfig;

/// How instances are kept apart.
#[derive(Clone, Debug)]
pub enum Isolation {
    /// Namespaces, a user of their own, filters and limits.
    Container,
    /// Plain processes; allowed by the operator in so many words.
    None,
    /// Not at all: no instance can be made, for this reason.
    Refused(Error),
}

/// The host as it was found.
#[derive(Debug)]
pub struct Host {
    /// How instances are kept apart.
    pub isolation: Isolation,
    /// Whether every instance gets a user of its own.
    pub own_users: bool,
    /// Path of bubblewrap.
    pub bwrap: PathBuf,
    /// The host's own files that show inside.
    pub base: Base,
    /// Limits.
    pub cgroups: Cgroups,
    /// Network.
    pub network: Network,
    /// System call filters.
    pub filters: Vec<Vec<u8>>,
    /// What is missing, in sentences.
    pub notices: Vec<String>,
}

impl Host {
    /// Tries out what the host allows.
    ///
    /// # Errors
    /// Only for our own faults: a host that can do little is described, not refused.
    pub async fn detect(config: &AgentConfig) -> Result<Self> {
        let root = rustix::process::geteuid().is_root();
        let filters = seccomp::filters()?;
        let base = Base::detect();
        let bwrap = command::find("bwrap").unwrap_or_else(|| PathBuf::from("bwrap"));
        let mut notices = Vec::new();
        let mut isolation = match container(root, &base, &bwrap, config).await {
            Ok(()) => Isolation::Container,
            Err(error) if config.allow_no_isolation => {
                notices.push(format!(
                    "NO ISOLATION: instances run as plain processes and can see the node and each other ({})",
                    error.message()
                ));
                Isolation::None
            }
            Err(error) => Isolation::Refused(error),
        };
        let mut own_users = root;
        if root && matches!(isolation, Isolation::None) {
            match plain_user(config).await {
                Ok(possible) => own_users = possible,
                Err(error) => isolation = Isolation::Refused(error),
            }
            if !own_users {
                notices.push("NO ISOLATION: instances run as the agent's own user, who is root here".into());
            }
        }
        if let Isolation::Refused(error) = &isolation {
            let hint = error.hint_text().map(|h| format!("; {h}")).unwrap_or_default();
            notices.push(format!("no instance can run on this node: {}{hint}", error.message()));
        }
        let (cgroups, network) = if root {
            let network = Network::detect(config.network.clone()).await;
            (Cgroups::detect(Path::new("/sys/fs/cgroup")), network)
        } else {
            (Cgroups::none(), Network::absent(config.network.clone()))
        };
        notices.extend(cgroups.notices().iter().cloned());
        if matches!(isolation, Isolation::Container) {
            notices.extend(network.notices().iter().cloned());
        }
        Ok(Self { isolation, own_users, bwrap, base, cgroups, network, filters, notices })
    }

    /// `container` or `none`, as the node's information says it.
    pub fn isolation_name(&self) -> &'static str {
        if matches!(self.isolation, Isolation::Container) { "container" } else { "none" }
    }
}

/// Runs an empty sandbox as an instance would run.
async fn container(root: bool, base: &Base, bwrap: &Path, config: &AgentConfig) -> Result<()> {
    if !root {
        return Err(Error::new(Cause::HostIncomplete, "the agent does not run as root")
            .hint("start it as root, or allow instances without isolation"));
    }
    command::need("bwrap", "bubblewrap")?;
    let refused = |why: String| {
        Error::new(Cause::HostIncomplete, format!("this host does not let bubblewrap make a sandbox: {why}")).hint(
            "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, \
             user.max_user_namespaces above 0, kernel.apparmor_restrict_unprivileged_userns=0)",
        )
    };
    let log = tempfile(&config.state_dir)?;
    let mut arguments = base.options();
    arguments.extend(["--unshare-net".to_owned(), "--".to_owned(), "/usr/bin/true".to_owned()]);
    let entry = Entry {
        user: Some(config.uid_base),
        shown: Some(spawn::shown(&config.state_dir).map_err(Error::internal)?),
        ..Entry::default()
    };
    let mut child =
        spawn::spawn(bwrap, &arguments, &Default::default(), &log.0, entry).map_err(|e| refused(e.to_string()))?;
    let status = child.wait().await.map_err(|e| refused(e.to_string()))?;
    let words = crate::files::tail(&log.1, 300);
    let _ = std::fs::remove_file(&log.1);
    if status.success() { Ok(()) } else { Err(refused(format!("{status}, {words}"))) }
}

/// Whether a plain process can run under a user of its own. A user namespace that
/// maps only root has no other users to give.
async fn plain_user(config: &AgentConfig) -> Result<bool> {
    let (log, path) = tempfile(&config.state_dir)?;
    let entry = Entry { user: Some(config.uid_base), ..Entry::default() };
    let guest = config.state_dir.join("guest");
    let tried = spawn::spawn(&guest, &["--help".to_owned()], &Default::default(), &log, entry);
    let _ = std::fs::remove_file(&path);
    let closed = |context: String| {
        Error::new(Cause::HostIncomplete, "the users of instances cannot reach the data folder")
            .hint("choose a data folder whose parents others may pass through, on a file system that allows programs")
            .context(context)
    };
    match tried {
        Ok(mut child) => {
            let status = child.wait().await.map_err(|e| closed(e.to_string()))?;
            if status.success() { Ok(true) } else { Err(closed(status.to_string())) }
        }
        Err(e) if matches!(e.raw_os_error(), Some(libc::EINVAL | libc::EPERM)) => Ok(false),
        Err(e) => Err(closed(e.to_string())),
    }
}

fn tempfile(folder: &Path) -> Result<(std::fs::File, PathBuf)> {
    let path = folder.join("probe.log");
    let file = std::fs::File::create(&path).map_err(|e| crate::files::error("create", &path, &e))?;
    Ok((file, path))
}
