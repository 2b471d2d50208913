//! Starts the first process of an instance: in a sandbox, or plain where the
//! operator allows that.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use base::{Cause, Error, Result};
use rustix::fs::MemfdFlags;
use tokio::process::Child;
use tokio::time::Instant;

use super::bwrap::{FAKE_LIB, GUEST, Plan, SOCKET};
use super::host::{Host, Isolation};
use super::spawn::{self, Entry};
use super::{Sandbox, etc_files, nodes};
use crate::config::AgentConfig;
use crate::files;
use crate::meta::{Folders, Meta};
use crate::process::ProcessId;
use crate::runner::{Launched, READY_WITHIN, died_early};

/// How long the helper itself waits for programs to end when it is asked to.
const GRACE_INSIDE_MS: &str = "5000";
/// Longest path that the kernel takes for a socket.
const SOCKET_PATH: usize = 107;

impl Sandbox {
    /// Starts the first process and names it.
    ///
    /// # Errors
    /// `device-lost`, `engine-failed`, `host-incomplete`; then something may have been
    /// started, which `release` ends.
    pub async fn launch(&self, folders: &Folders, meta: &Meta, deadline: Instant) -> Result<Launched> {
        let log = File::create(folders.log()).map_err(|e| files::error("create", &folders.log(), &e))?;
        let cards = self.cards.facts_of(&meta.spec.devices)?;
        if matches!(self.host.isolation, Isolation::Container) {
            let nodes = nodes::prepare(&folders.dev(), meta.uid, &cards)?;
            let init = self.spawn_sandbox(folders, meta, &log, &nodes, deadline).await?;
            return Ok(Launched { init, numbers: Some(nodes.numbers()) });
        }
        Ok(Launched { init: self.spawn_plain(folders, meta, &log)?, numbers: None })
    }

    async fn spawn_sandbox(
        &self,
        folders: &Folders,
        meta: &Meta,
        log: &File,
        nodes: &nodes::Nodes,
        deadline: Instant,
    ) -> Result<ProcessId> {
        let host = &self.host;
        let slug = meta.spec.instance.slug.as_str();
        let failed = |what: &str, e: &dyn std::fmt::Display| {
            Error::new(Cause::EngineFailed, format!("the instance could not be started: {what}"))
                .hint("the agent's log on the node has the details")
                .context(e)
        };
        let etc = etc_files::write(&folders.etc(), slug, host.network.resolvers(), self.ld_cache.as_deref())?;
        let place = spawn::place().map_err(|e| failed("it cannot see its folder", &e))?;
        let seen =
            |path: &Path| path.strip_prefix(self.state_dir()).map_or_else(|_| path.to_owned(), |p| place.join(p));
        let etc: Vec<_> = etc.into_iter().map(|e| etc_files::Shown { from: seen(&e.from), at: e.at }).collect();
        let shown_nodes: Vec<_> =
            nodes.nodes.iter().map(|n| nodes::Node { from: seen(&n.from), ..n.clone() }).collect();
        let filters = host.filters.iter().map(|f| memory_file(f)).collect::<Result<Vec<_>>>()?;
        let (info_read, info_write) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| failed("no pipe", &e))?;
        let env = self.environment(meta);
        let guest = seen(&self.state_dir().join("guest"));
        let fake_lib = self.cards.fake_library().map(&seen);
        let plan = Plan {
            slug,
            root: &seen(&folders.root),
            guest: &guest,
            fake_lib: fake_lib.as_deref(),
            etc: &etc,
            nodes: &shown_nodes,
            env: &env,
            loopback_only: !host.network.usable(),
            filters: &filters.iter().map(AsRawFd::as_raw_fd).collect::<Vec<_>>(),
            info: info_write.as_raw_fd(),
        };
        // By descriptor: a command line shows to everybody on the node, and the
        // renter's environment may hold his secrets.
        let options = memory_file(host.base.arguments(&plan).join("\0").as_bytes())?;
        let mut arguments = vec!["--args".to_owned(), options.as_raw_fd().to_string(), "--".to_owned()];
        arguments.extend(guest_arguments(GUEST, SOCKET, meta.spec.on_start.as_deref()));
        let network = match host.network.usable() {
            true => {
                let path = Path::new("/run/netns").join(host.network.link(slug, meta.net_index)?.namespace);
                Some(File::open(&path).map_err(|e| files::error("open", &path, &e))?)
            }
            false => None,
        };
        let entry = Entry {
            user: Some(meta.uid),
            groups: host.cgroups.entrances(&meta.unit())?,
            network,
            shown: Some(spawn::shown(self.state_dir()).map_err(|e| failed("odd path", &e))?),
            passed: filters.into_iter().chain([options, info_write]).collect(),
            processes: self.processes_limit(meta),
        };
        let child = spawn::spawn(&host.bwrap, &arguments, &BTreeMap::new(), log, entry)
            .map_err(|e| failed("bubblewrap did not run", &e))?;
        reap(child);
        let number = tokio::time::timeout_at(deadline, first_process(info_read)).await.ok().flatten();
        number.and_then(|pid| ProcessId::of(pid, &self.boot_id)).ok_or_else(|| died_early(folders))
    }

    fn spawn_plain(&self, folders: &Folders, meta: &Meta, log: &File) -> Result<ProcessId> {
        let socket = folders.run().join("guest.sock");
        if socket.as_os_str().len() + 8 > SOCKET_PATH {
            return Err(Error::new(Cause::HostIncomplete, "the path of the data folder is too long for a socket")
                .hint("use a data folder with a shorter path")
                .context(socket.display()));
        }
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut env = self.environment(meta);
        env.insert("HOME".into(), text(folders.home()));
        env.insert("SUANLI_WORKSPACE".into(), text(folders.workspace()));
        env.insert("SUANLI_RUN".into(), text(folders.run()));
        if let Some(library) = self.cards.fake_library() {
            env.insert("FAKE_NVML_STATE".into(), text(folders.opt().join("cards.toml")));
            env.insert("LD_LIBRARY_PATH".into(), text(library.to_owned()));
        }
        let guest = self.state_dir().join("guest");
        let arguments = guest_arguments("", &text(socket), meta.spec.on_start.as_deref());
        let entry = Entry {
            user: self.user_of(meta),
            groups: self.host.cgroups.entrances(&meta.unit())?,
            processes: self.processes_limit(meta),
            ..Entry::default()
        };
        let child = spawn::spawn(&guest, arguments.get(1..).unwrap_or_default(), &env, log, entry).map_err(|e| {
            Error::new(Cause::EngineFailed, "the helper did not run")
                .hint("the data folder must be on a file system that allows programs, and open for other users")
                .context(e)
        })?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        let id = pid.and_then(|pid| ProcessId::of(pid, &self.boot_id));
        reap(child);
        id.ok_or_else(|| died_early(folders))
    }

    /// The user's own limit does where no control group counts processes.
    fn processes_limit(&self, meta: &Meta) -> Option<u64> {
        if self.host.cgroups.limits_processes() || !self.host.own_users {
            return None;
        }
        u64::try_from(meta.spec.max_processes).ok()
    }
}

impl Host {
    /// A library search cache in which the fake cards' library has its inside path.
    /// `None` when it cannot be made; then an environment variable serves.
    pub async fn library_cache(&self, config: &AgentConfig, library: &Path) -> Option<PathBuf> {
        let out = config.state_dir.join("ld");
        let owner = Some((config.uid_base, config.uid_base));
        let place = spawn::place().ok()?;
        let seen = |path: &Path| path.strip_prefix(&config.state_dir).ok().map(|p| place.join(p));
        files::folder(&out, 0o700, owner).ok()?;
        let log_path = config.state_dir.join("probe.log");
        let log = File::create(&log_path).ok()?;
        let mut arguments = self.base.options();
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        arguments.extend(["--unshare-net", "--ro-bind"].map(str::to_owned));
        arguments.extend([
            text(seen(library)?),
            FAKE_LIB.to_owned(),
            "--bind".into(),
            text(seen(&out)?),
            "/out".into(),
        ]);
        for name in ["ld.so.conf", "ld.so.conf.d"] {
            arguments.extend(["--ro-bind-try".to_owned(), format!("/etc/{name}"), format!("/etc/{name}")]);
        }
        let ldconfig = super::command::find("ldconfig")?;
        arguments.extend(["--".to_owned(), text(ldconfig)]);
        arguments.extend(["-X", "-C", "/out/ld.so.cache", FAKE_LIB].map(str::to_owned));
        let entry =
            Entry { user: Some(config.uid_base), shown: spawn::shown(&config.state_dir).ok(), ..Entry::default() };
        let mut child = spawn::spawn(&self.bwrap, &arguments, &BTreeMap::new(), &log, entry).ok()?;
        let status = tokio::time::timeout(READY_WITHIN, child.wait()).await.ok()?.ok()?;
        let cache = out.join("ld.so.cache");
        if !status.success() || !cache.is_file() {
            tracing::warn!(%status, words = files::tail(&log_path, 300), "no library cache for fake cards");
            return None;
        }
        let _ = std::fs::remove_file(&log_path);
        // From here on it is the agent's: the user that made it may become a renter's.
        std::os::unix::fs::chown(&out, Some(0), Some(0)).ok()?;
        files::folder(&out, 0o755, Some((0, 0))).ok()?;
        std::os::unix::fs::chown(&cache, Some(0), Some(0)).ok()?;
        std::fs::set_permissions(&cache, std::os::unix::fs::PermissionsExt::from_mode(0o644)).ok()?;
        Some(cache)
    }
}

fn guest_arguments(program: &str, socket: &str, on_start: Option<&str>) -> Vec<String> {
    let mut all: Vec<String> =
        [program, "init", "--socket", socket, "--grace-ms", GRACE_INSIDE_MS].map(str::to_owned).to_vec();
    if let Some(command) = on_start {
        all.extend(["--on-start".to_owned(), command.to_owned()]);
    }
    all
}

/// A file in memory only, positioned at its start.
fn memory_file(data: &[u8]) -> Result<OwnedFd> {
    let fd = rustix::fs::memfd_create("suanli", MemfdFlags::CLOEXEC).map_err(Error::internal)?;
    let mut file = File::from(fd);
    file.write_all(data).and_then(|()| file.rewind()).map_err(Error::internal)?;
    Ok(file.into())
}

/// Fetches the child's exit whenever it comes; the agent's table must not fill up.
fn reap(mut child: Child) {
    tokio::spawn(async move {
        let _ = child.wait().await;
    });
}

/// The number of the first process, which bubblewrap tells on `info`.
async fn first_process(info: OwnedFd) -> Option<i32> {
    use tokio::io::AsyncReadExt;
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct Info {
        child_pid: i32,
    }
    let mut pipe = tokio::net::unix::pipe::Receiver::from_owned_fd(info).ok()?;
    let mut text = Vec::new();
    let mut buffer = [0; 512];
    loop {
        let read = pipe.read(&mut buffer).await.ok()?;
        text.extend_from_slice(buffer.get(..read)?);
        if let Ok(info) = serde_json::from_slice::<Info>(&text) {
            return Some(info.child_pid);
        }
        if read == 0 {
            return None;
        }
    }
}
