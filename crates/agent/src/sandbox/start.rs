//! Starts a generation and proves that the renter can use it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base::{Cause, Error, Result};
use engine::{InstanceRef, Ready};
use rustix::fs::MemfdFlags;
use tokio::process::Child;
use tokio::time::Instant;

use super::bwrap::{FAKE_LIB, GUEST, Plan, SOCKET};
use super::host::{Host, Isolation};
use super::instance::Instance;
use super::meta::{Meta, Phase};
use super::process::{Process, ProcessId};
use super::spawn::{self, Entry};
use super::{Sandbox, etc_files, guest, nodes, not_here, stale};
use crate::config::AgentConfig;
use crate::files;

/// Within this time an instance is ready or was not started.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How long the helper itself waits for programs to end when it is asked to.
const GRACE_INSIDE_MS: &str = "5000";
/// Longest path that the kernel takes for a socket.
const SOCKET_PATH: usize = 107;

impl Sandbox {
    pub(super) async fn start_now(&self, reference: &InstanceRef) -> Result<Ready> {
        let instance = self.known(&reference.id)?;
        let _op = instance.op.lock().await;
        let mut meta = instance.meta().ok_or_else(|| not_here(&reference.id))?;
        let known = meta.spec.instance.generation;
        if known > reference.generation {
            return Err(stale(known, reference.generation));
        }
        if known < reference.generation {
            return Err(Error::not_found(format!("generation {} of instance {}", reference.generation, reference.id)));
        }
        let died = || {
            Error::new(Cause::InitDied, "the first process of this generation has ended").hint("start a new generation")
        };
        match meta.phase {
            Phase::Running if instance.running() => {
                return meta.ready.ok_or_else(|| Error::internal("a running instance without proof"));
            }
            Phase::Running => {
                self.record_death(&instance, &mut meta, self.now(), Cause::InitDied)?;
                self.tear_down(&instance, &meta).await?;
                return Err(died());
            }
            Phase::Ended => return Err(died()),
            Phase::Stopping | Phase::Stopped => {
                return Err(Error::new(Cause::WrongState, "this generation was stopped").hint("start a new generation"));
            }
            Phase::Starting => {
                // An earlier try was cut off; whatever it started is not known to be whole.
                if let Some(init) = instance.init() {
                    init.signal(rustix::process::Signal::KILL);
                }
                self.release(&meta).await?;
                self.make(&instance, meta).await?;
            }
            Phase::Created if meta.boot_id == self.0.evidence.boot_id() => {}
            Phase::Created | Phase::Creating => self.make(&instance, meta).await?,
        }
        let mut meta = instance.meta().ok_or_else(|| not_here(&reference.id))?;
        match self.bring_up(&instance, &mut meta).await {
            Ok(ready) => Ok(ready),
            Err(error) => {
                self.back_to_created(&instance, meta).await;
                Err(error)
            }
        }
    }

    /// After a failed start nothing runs, and `start` may be tried again.
    async fn back_to_created(&self, instance: &Instance, mut meta: Meta) {
        if let Some(init) = instance.init() {
            init.signal(rustix::process::Signal::KILL);
        }
        instance.set_init(None);
        meta.init = None;
        let outcome = match self.release(&meta).await {
            Ok(()) => {
                meta.phase = Phase::Creating;
                self.save(instance, &meta, true)
            }
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            tracing::error!(%error, id = %instance.id, "a failed start could not be cleared away");
        }
    }

    async fn bring_up(&self, instance: &Arc<Instance>, meta: &mut Meta) -> Result<Ready> {
        let deadline = Instant::now() + READY_WITHIN;
        meta.phase = Phase::Starting;
        meta.init = None;
        meta.on_start_reported = false;
        // Not durable: nothing that starts here outlives a power cut.
        self.save(instance, meta, false)?;
        engine::fault::point("agent.start.after-intent");
        let folders = &instance.folders;
        let user = self.user_of(meta);
        files::remove_folder(&folders.run())?;
        files::folder(&folders.run(), 0o700, user.map(|u| (u, u)))?;
        if let Some(token) = &meta.spec.token {
            files::private(&folders.token(), token.as_bytes(), user.map(|u| (u, u)))?;
        }
        let log = File::create(folders.log()).map_err(|e| files::error("create", &folders.log(), &e))?;

        let cards = self.0.cards.facts_of(&meta.spec.devices)?;
        let (id, numbers) = if matches!(self.0.host.isolation, Isolation::Container) {
            let nodes = nodes::prepare(&folders.dev(), meta.uid, &cards)?;
            (self.spawn_sandbox(instance, meta, &log, &nodes, deadline).await?, Some(nodes.numbers()))
        } else {
            (self.spawn_plain(instance, meta, &log)?, None)
        };
        let early = || self.died_early(instance);
        engine::fault::point("agent.start.after-spawn");
        let init = Arc::new(id.open(self.0.evidence.boot_id()).ok_or_else(early)?);
        meta.init = Some(id);
        instance.set_init(Some(init.clone()));
        self.save(instance, meta, false)?;

        let proof = self.prove(instance, meta, &init, numbers.as_ref());
        let evidence = match tokio::time::timeout_at(deadline, proof).await {
            Ok(outcome) => outcome?,
            Err(_) => {
                return Err(Error::new(
                    Cause::NotReadyInTime,
                    format!("the instance was not ready within {} s", READY_WITHIN.as_secs()),
                )
                .hint("the node may be overloaded; try again or on another node")
                .context(files::tail(&folders.log(), 400)));
            }
        };
        engine::fault::point("agent.start.after-proof");
        let ready = Ready { at: self.now(), notices: meta.notices.clone(), evidence };
        meta.ready = Some(ready.clone());
        meta.phase = Phase::Running;
        self.save(instance, meta, true)?;
        instance.set_measured(super::Measured::default());
        self.watch(instance, init);
        engine::fault::point("agent.start.after-ready");
        Ok(ready)
    }

    fn died_early(&self, instance: &Instance) -> Error {
        let words = files::tail(&instance.folders.log(), 400);
        Error::new(Cause::EngineFailed, format!("the instance's first process ended at once: {words}"))
            .hint("the agent's log on the node may say more")
    }

    /// Waits until the helper answers, compares the cards that it sees and runs a shell.
    async fn prove(
        &self,
        instance: &Instance,
        meta: &Meta,
        init: &Process,
        numbers: Option<&std::collections::BTreeSet<String>>,
    ) -> Result<String> {
        let (run, user) = (instance.folders.run(), self.user_of(meta));
        let socket = run.join("guest.sock");
        while !socket.exists() {
            if !init.alive() {
                return Err(self.died_early(instance));
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let seen = guest::look(guest::connect(&run, user).await?).await?;
        if let Some(numbers) = numbers
            && seen.devices != *numbers
        {
            let list = |set: &std::collections::BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
            return Err(Error::new(
                Cause::EngineFailed,
                format!("inside, the cards [{}] show, but it holds [{}]", list(&seen.devices), list(numbers)),
            )
            .hint("check the device nodes on the node"));
        }
        guest::shell(guest::connect(&run, user).await?).await?;
        let cards = match numbers {
            None => "device numbers are not compared without isolation".to_owned(),
            Some(numbers) if numbers.is_empty() => "no card shows inside, as none was ordered".to_owned(),
            Some(numbers) => {
                let list: Vec<&str> = numbers.iter().map(String::as_str).collect();
                format!("exactly the device numbers {} show inside", list.join(", "))
            }
        };
        Ok(format!("the helper inside answered as user {}, {cards}, and a shell ran", seen.uid))
    }

    async fn spawn_sandbox(
        &self,
        instance: &Instance,
        meta: &Meta,
        log: &File,
        nodes: &nodes::Nodes,
        deadline: Instant,
    ) -> Result<ProcessId> {
        let host = &self.0.host;
        let slug = meta.spec.instance.slug.as_str();
        let failed = |what: &str, e: &dyn std::fmt::Display| {
            Error::new(Cause::EngineFailed, format!("the instance could not be started: {what}"))
                .hint("the agent's log on the node has the details")
                .context(e)
        };
        let etc =
            etc_files::write(&instance.folders.etc(), slug, host.network.resolvers(), self.0.ld_cache.as_deref())?;
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
        let fake_lib = self.0.cards.fake_library().map(&seen);
        let plan = Plan {
            slug,
            root: &seen(&instance.folders.root),
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
        number.and_then(|pid| ProcessId::of(pid, self.0.evidence.boot_id())).ok_or_else(|| self.died_early(instance))
    }

    fn spawn_plain(&self, instance: &Instance, meta: &Meta, log: &File) -> Result<ProcessId> {
        let folders = &instance.folders;
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
        if let Some(library) = self.0.cards.fake_library() {
            env.insert("FAKE_NVML_STATE".into(), text(folders.opt().join("cards.toml")));
            env.insert("LD_LIBRARY_PATH".into(), text(library.to_owned()));
        }
        let guest = self.state_dir().join("guest");
        let arguments = guest_arguments("", &text(socket), meta.spec.on_start.as_deref());
        let entry = Entry {
            user: self.user_of(meta),
            groups: self.0.host.cgroups.entrances(&meta.unit())?,
            processes: self.processes_limit(meta),
            ..Entry::default()
        };
        let child = spawn::spawn(&guest, arguments.get(1..).unwrap_or_default(), &env, log, entry).map_err(|e| {
            Error::new(Cause::EngineFailed, "the helper did not run")
                .hint("the data folder must be on a file system that allows programs, and open for other users")
                .context(e)
        })?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        let id = pid.and_then(|pid| ProcessId::of(pid, self.0.evidence.boot_id()));
        reap(child);
        id.ok_or_else(|| self.died_early(instance))
    }

    /// The user's own limit does where no control group counts processes.
    fn processes_limit(&self, meta: &Meta) -> Option<u64> {
        if self.0.host.cgroups.limits_processes() || !self.0.host.own_users {
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
