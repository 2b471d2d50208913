//! A real agent on this machine, as root, reached as the server reaches it.

#![allow(clippy::expect_used, reason = "tests may")]
#![allow(dead_code, reason = "every test binary uses its own part")]
#![allow(missing_docs, reason = "read together with the tests")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base::{InstanceId, Slug, Span, Timestamp};
use engine::remote::Stream;
use engine::{AgentEngine, Engine, InstanceRef, InstanceSpec, NodeReport};
use futures_util::{SinkExt, StreamExt};
use link::frame::FrameCodec;
use link::{Control, Frame, Open};
use suanli_agent::{AgentConfig, NetworkMode};
use tokio::process::{Child, Command};
use tokio_util::codec::Framed;

pub mod incus;

static NODES: AtomicU32 = AtomicU32::new(0);

/// One agent with a folder of its own.
pub struct Node {
    pub config: AgentConfig,
    pub engine: AgentEngine,
    child: Option<Child>,
    /// Network namespace that the agent runs in instead of the machine's.
    pub namespace: Option<String>,
    dir: tempfile::TempDir,
}

/// What a command inside printed and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Node {
    /// A node with fake cards whose instances reach nothing.
    pub async fn new(profile: &str) -> Self {
        let mut node = Self::prepared(profile);
        node.begin().await;
        node
    }

    /// As [`Node::new`], before the agent is started.
    pub fn prepared(profile: &str) -> Self {
        assert!(rustix::process::geteuid().is_root(), "these tests need root: instances get users of their own");
        let dir = tempfile::tempdir().unwrap();
        let number = NODES.fetch_add(1, Ordering::Relaxed);
        // Agents of tests that run at the same time must not share users or networks.
        let place = std::process::id() % 3_900;
        let mut config = AgentConfig::new(dir.path().join("state"), dir.path().join("agent.sock"));
        config.fake_profile = Some(profile.to_owned());
        config.name = Some(format!("test-{}-{number}", std::process::id()));
        config.uid_base = 700_000 + place * 64 + (number % 8) * 8;
        config.network.mode = NetworkMode::Closed;
        let block = place * 8 + number % 8;
        config.network.subnet =
            format!("10.{}.{}.{}/27", 100 + block / 2_048, block / 8 % 256, block % 8 * 32).parse().unwrap();
        let engine = AgentEngine::unix(&config.socket);
        Self { config, engine, child: None, namespace: None, dir }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// Starts the agent and waits until it answers.
    pub async fn begin(&mut self) {
        let config = serde_json::to_string(&self.config).unwrap();
        let program = env!("CARGO_BIN_EXE_suanli-agent-test");
        let mut command = match &self.namespace {
            None => Command::new(program),
            Some(name) => {
                let mut command = Command::new("nsenter");
                command.arg(format!("--net=/run/netns/{name}")).arg(program);
                command
            }
        };
        let mut child = command.arg(config).stdin(Stdio::null()).kill_on_drop(true).spawn().unwrap();
        for _ in 0..3_000 {
            if self.engine.info().await.is_ok() {
                self.child = Some(child);
                return;
            }
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the agent ended at once: {status}");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the agent does not answer");
    }

    /// Kills the agent as a crash would.
    pub async fn kill(&mut self) {
        self.child.take().unwrap().kill().await.unwrap();
    }

    pub async fn restart(&mut self) {
        self.kill().await;
        self.begin().await;
    }

    pub async fn cards(&self) -> Vec<String> {
        self.engine.info().await.unwrap().devices.into_iter().map(|d| d.uuid).collect()
    }

    pub fn folder(&self, id: &InstanceId) -> PathBuf {
        self.config.state_dir.join("instances").join(id.as_str())
    }

    pub async fn report(&self, after: Timestamp, wait: Span) -> NodeReport {
        self.engine.report(after, wait).await.unwrap()
    }

    pub async fn stream(&self, id: &InstanceId, open: Open) -> Framed<Stream, FrameCodec> {
        let mut stream = Framed::new(self.engine.open_stream(id).await.unwrap(), FrameCodec);
        stream.send(Frame::Control(Control::Open(open))).await.unwrap();
        stream
    }

    /// Whether a shell command can be run inside and succeeds.
    pub async fn can(&self, id: &InstanceId, command: &str) -> bool {
        let argv = ["sh", "-c", command].map(str::to_owned).to_vec();
        let Ok(stream) = self.engine.open_stream(id).await else { return false };
        let mut stream = Framed::new(stream, FrameCodec);
        let open = Open::Exec { argv, env: BTreeMap::new(), cwd: None, terminal: None };
        if stream.send(Frame::Control(Control::Open(open))).await.is_err() {
            return false;
        }
        while let Some(Ok(frame)) = stream.next().await {
            if let Frame::Control(Control::Exit { code }) = frame {
                return code == 0;
            }
        }
        false
    }

    /// Runs a shell command inside.
    pub async fn shell(&self, id: &InstanceId, command: &str) -> Ran {
        let argv = ["sh", "-c", command].map(str::to_owned).to_vec();
        let mut stream = self.stream(id, Open::Exec { argv, env: BTreeMap::new(), cwd: None, terminal: None }).await;
        let (mut out, mut err) = (Vec::new(), Vec::new());
        loop {
            match stream.next().await {
                Some(Ok(Frame::Stdout(data))) => out.extend(data),
                Some(Ok(Frame::Stderr(data))) => err.extend(data),
                Some(Ok(Frame::Control(Control::Exit { code }))) => {
                    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
                    return Ran { code, out: text(out), err: text(err) };
                }
                Some(Ok(Frame::Control(Control::Started))) => {}
                other => panic!("running `{command}`: unexpected {other:?}, so far {out:?} {err:?}"),
            }
        }
    }

    /// Runs a shell command inside that must succeed; what it printed.
    pub async fn ok(&self, id: &InstanceId, command: &str) -> String {
        let ran = self.shell(id, command).await;
        assert_eq!(ran.code, 0, "`{command}` failed: {ran:?}");
        ran.out
    }

    /// Creates and starts a new instance with these cards.
    pub async fn rent(&self, cards: &[String]) -> InstanceSpec {
        let spec = spec(cards);
        self.engine.create(&spec).await.unwrap();
        self.engine.start(&spec.instance).await.unwrap();
        spec
    }

    pub async fn stop(&self, instance: &InstanceRef) {
        self.engine.stop(instance, Span::from_secs(5)).await.unwrap();
    }
}

impl Drop for Node {
    /// A test that failed half-way must leave no process behind either.
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.start_kill();
        }
        for uid in self.config.uid_base..self.config.uid_base + 8 {
            for pid in pids_of(uid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        let folders = std::fs::read_dir(self.config.state_dir.join("instances")).into_iter().flatten().flatten();
        for folder in folders {
            if let Ok(text) = std::fs::read_to_string(folder.path().join("meta.json"))
                && let Ok(meta) = serde_json::from_str::<serde_json::Value>(&text)
                && let Some(slug) = meta["spec"]["instance"]["slug"].as_str()
            {
                sweep(slug, self.namespace.as_deref());
            }
        }
    }
}

/// Removes what the machine still has of an instance of a failed test.
fn sweep(slug: &str, namespace: Option<&str>) {
    let quiet = |program: &str, arguments: &[&str]| {
        let _ = std::process::Command::new(program).args(arguments).stderr(Stdio::null()).status();
    };
    if namespace.is_none() {
        quiet("ip", &["link", "delete", &format!("sl-{slug}")]);
        quiet("nft", &["delete", "table", "inet", &format!("suanli-{slug}")]);
    }
    quiet("ip", &["netns", "delete", &format!("suanli-{slug}")]);
    for group in host("find", &["/sys/fs/cgroup", "-maxdepth", "4", "-name", &format!("{slug}-*")]).lines() {
        let _ = std::fs::remove_dir(group);
    }
}

/// Processes of the machine that run under this user.
pub fn pids_of(uid: u32) -> Vec<rustix::process::Pid> {
    let ours = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| {
            let field = |name: &str| status.lines().find_map(|l| l.strip_prefix(name))?.split_whitespace().next();
            field("State:") != Some("Z") && field("Uid:") == Some(&uid.to_string())
        })
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).filter(ours);
    pids.filter_map(rustix::process::Pid::from_raw).collect()
}

/// A specification of a new instance.
pub fn spec(cards: &[String]) -> InstanceSpec {
    let random = u128::from_ne_bytes(random());
    let now = Timestamp::from_micros(suanli_agent::clock::wall_us());
    InstanceSpec {
        instance: InstanceRef { id: InstanceId::new(now, random), slug: Slug::new(random), generation: 1 },
        devices: cards.to_vec(),
        cpus: 1,
        memory_mib: 256,
        disk_mib: 64,
        max_processes: 64,
        env: BTreeMap::new(),
        on_start: None,
        token: None,
    }
}

fn random() -> [u8; 16] {
    use std::io::Read;
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    bytes
}

/// The next generation of an instance.
pub fn next(spec: &InstanceSpec) -> InstanceSpec {
    let mut spec = spec.clone();
    spec.instance.generation += 1;
    spec
}

/// Waits until `check` holds; `what` names it when it never does.
pub async fn eventually<F: Future<Output = bool>>(what: &str, mut check: impl FnMut() -> F) {
    for _ in 0..600 {
        if check().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it never came true that {what}");
}

/// Runs a command of the machine; its output.
pub fn host(program: &str, arguments: &[&str]) -> String {
    let output = std::process::Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Traces of an instance that the machine shows: groups, namespaces, interfaces, filters.
pub fn traces(slug: &Slug) -> Vec<String> {
    let mut found = Vec::new();
    for line in host("find", &["/sys/fs/cgroup", "-maxdepth", "4", "-name", &format!("{slug}-*")]).lines() {
        found.push(line.to_owned());
    }
    for text in [host("ip", &["netns", "list"]), host("ip", &["-o", "link"]), host("nft", &["list", "tables"])] {
        found.extend(text.lines().filter(|l| l.contains(slug.as_str())).map(str::to_owned));
    }
    found
}
