//! A server with its agent, fake cards and a folder of its own.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use rustix::process::Signal;
use serde_json::Value;

use crate::host::{self, Traces};
use crate::sweep::Sweeper;
use crate::{Folder, Job, Person, Ran, Tmpfs, eventually, is_root, pids_with, soon, suanli, text};

/// Users that the agent of one site hands out; no test rents as many.
const USERS: u32 = 64;

/// How a site should be. The default is one laboratory machine on SQLite.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Fake cards: a profile's name.
    pub cards: &'static str,
    /// Address of a database instead of SQLite.
    pub database: Option<String>,
    /// Size of the file system of the agent's state, MiB, where it has one of its own.
    pub disk: Option<u64>,
    /// An Incus that runs the instances instead of the sandbox.
    pub incus: Option<crate::incus::Member>,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { cards: "mixed-lab", database: None, disk: None, incus: None }
    }
}

/// A running site. Everything of it ends with the test, also one that fails.
#[derive(Debug)]
pub struct Site {
    /// The operator, signed in.
    pub operator: Person,
    /// Where it answers.
    pub url: String,
    wanted: Wanted,
    server: Mutex<Option<Job>>,
    people: Mutex<Vec<Person>>,
    fault: Mutex<Option<String>>,
    sweeper: Sweeper,
    tmpfs: Option<Tmpfs>,
    folder: Folder,
}

fn users_of(folder: &Folder) -> std::ops::Range<u32> {
    let first = 100_000_000 + std::process::id() % 1_000_000 * 1_024 + folder.number() % 16 * USERS;
    first..first + USERS
}

impl Site {
    /// The default site, started.
    pub fn start() -> Self {
        Self::with(Wanted::default())
    }

    /// A site as wanted, started.
    ///
    /// # Panics
    /// It cannot start; without root it never can.
    pub fn with(wanted: Wanted) -> Self {
        Self::in_folder(Folder::new(), wanted)
    }

    /// As [`Site::with`], in a folder that the test has made.
    ///
    /// # Panics
    /// As [`Site::with`].
    pub fn in_folder(folder: Folder, wanted: Wanted) -> Self {
        assert!(is_root(), "these tests need root: instances get users of their own");
        let users = users_of(&folder);
        let sweeper = Sweeper::start(folder.path(), &users);
        let tmpfs = wanted.disk.map(|mib| Tmpfs::mount(&folder.path().join("agent"), mib));
        let operator = Person::new("operator", folder.path().join("operator"));
        let mut site = Self {
            operator,
            url: String::new(),
            wanted,
            server: Mutex::default(),
            people: Mutex::default(),
            fault: Mutex::default(),
            sweeper,
            tmpfs,
            folder,
        };
        site.url = site.begin("127.0.0.1:0");
        site.operator.sign_in(&site.url, &site.first_password());
        site
    }

    fn server(&self) -> std::sync::MutexGuard<'_, Option<Job>> {
        self.server.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The agent's folder.
    pub fn state(&self) -> PathBuf {
        self.folder.path().join("agent")
    }

    /// The server's folder.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A path in the folder of the test.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Users of the machine that are this site's instances. Each site has its own,
    /// as two agents that shared them would end each other's programs.
    pub fn users(&self) -> std::ops::Range<u32> {
        users_of(&self.folder)
    }

    /// Thirty-two addresses of its own.
    fn subnet(&self) -> String {
        let block = (std::process::id() * 16 + self.folder.number() % 16) % 32_768;
        format!("172.{}.{}.{}/27", 16 + block / 2_048, block / 8 % 256, block % 8 * 32)
    }

    /// Starts the server (and with it the agent, unless that runs) and waits until
    /// it answers; its address.
    fn begin(&self, listen: &str) -> String {
        let mut job = self.launch(listen);
        let url = soon("the server answers", || {
            assert!(job.runs(), "the server ended at once:\n{}{}{}", job.out(), job.err(), self.agent_log());
            job.out().lines().find_map(|line| line.strip_prefix("suanli answers at ").map(str::to_owned))
        });
        *self.server() = Some(job);
        url
    }

    /// How a server of this site is started.
    pub(crate) fn serve(&self, listen: &str, data: &Path) -> Command {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut command = Command::new(suanli());
        command.args(["serve", "--listen", listen, "--network", "closed", "--node-name", "lab"]);
        command.args(["--fake-gpus", self.wanted.cards, "--data", &text(data)]);
        command.args(["--agent-state", &text(&self.state()), "--subnet", &self.subnet()]);
        command.args(["--first-user", &self.users().start.to_string()]);
        if let Some(database) = &self.wanted.database {
            command.args(["--database", database]);
        }
        if let Some(incus) = &self.wanted.incus {
            command.args(incus.words());
        }
        self.operator.dress(&mut command);
        // Its usual place is one for the whole machine.
        command.env("SUANLI_SECRET_KEY_FILE", self.path("secret.key"));
        // What is typed at this terminal is for the tests.
        command.process_group(0);
        command
    }

    fn launch(&self, listen: &str) -> Job {
        let mut command = self.serve(listen, &self.data());
        if let Some(fault) = self.fault.lock().unwrap_or_else(std::sync::PoisonError::into_inner).as_deref() {
            command.env("SUANLI_FAULT", fault);
        }
        Job::start(command, &self.operator.home)
    }

    /// Starts server and agent again so that whichever comes to this fault point
    /// dies there. It may die before it ever answers.
    ///
    /// # Panics
    /// It neither answers nor dies.
    pub fn restart_armed(&self, point: &str) {
        self.end();
        *self.fault.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(point.to_owned());
        let mut job = self.launch(self.url.strip_prefix("http://").expect("an address"));
        eventually("it answers or dies", || !job.runs() || job.out().contains("suanli answers at "));
        *self.server() = Some(job);
        *self.fault.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }

    /// Kills the server and starts it again so that it freezes, once, when it comes
    /// to this fault point. Its agent runs on. It may freeze before it ever answers.
    ///
    /// # Panics
    /// It neither answers nor freezes.
    pub fn restart_to_freeze(&self, point: &str) {
        self.kill_server();
        *self.fault.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(format!("{point}:freeze"));
        let job = self.launch(self.url.strip_prefix("http://").expect("an address"));
        eventually("it answers or freezes", || job.out().contains("suanli answers at ") || host::frozen(job.pid()));
        *self.server() = Some(job);
        *self.fault.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }

    /// Whether the server has frozen by itself.
    pub fn server_froze(&self) -> bool {
        self.server().as_ref().is_some_and(|job| host::frozen(job.pid()))
    }

    /// Lets a frozen server go on.
    ///
    /// # Panics
    /// There is none.
    pub fn wake_server(&self) {
        self.server().as_ref().expect("a server").signal(Signal::CONT);
    }

    /// Stops the server from doing anything, in the middle of whatever it does.
    ///
    /// # Panics
    /// There is none.
    pub fn freeze_server(&self) {
        self.server().as_ref().expect("a server").signal(Signal::STOP);
        eventually("it is frozen", || self.server_froze());
    }

    /// Whether the server has died by itself.
    pub fn server_died(&self) -> bool {
        self.server().as_mut().is_none_or(|job| !job.runs())
    }

    /// Forgets a server that died, so that it can be started again.
    ///
    /// # Panics
    /// It lives.
    pub fn bury_server(&self) {
        assert!(self.server_died(), "the server lives");
        drop(self.server().take());
    }

    fn agent_log(&self) -> String {
        std::fs::read_to_string(self.data().join("agent.log")).unwrap_or_default()
    }

    /// Starts the server again on the same address.
    ///
    /// # Panics
    /// It still runs, or does not start.
    pub fn restart(&self) {
        assert!(self.server().is_none(), "the server still runs");
        let listen = self.url.strip_prefix("http://").expect("an address").to_owned();
        assert_eq!(self.begin(&listen), self.url);
    }

    /// Asks the server to end, as `systemctl stop` or Ctrl-C does; how it ended.
    ///
    /// # Panics
    /// It does not run or does not end.
    pub fn end(&self) -> Ran {
        let job = self.server().take().expect("a running server");
        job.signal(Signal::TERM);
        job.finish()
    }

    /// Kills the server as a crash would.
    ///
    /// # Panics
    /// It does not run.
    pub fn kill_server(&self) {
        let job = self.server().take().expect("a running server");
        job.signal(Signal::KILL);
        assert_eq!(job.finish().code, 137);
    }

    /// The agent's process.
    ///
    /// # Panics
    /// There is not exactly one.
    pub fn agent(&self) -> i32 {
        let found = self.agents();
        assert_eq!(found.len(), 1, "agents of this site: {found:?}");
        found[0]
    }

    /// Every agent of this site.
    pub fn agents(&self) -> Vec<i32> {
        let socket = self.data().join("agent.sock");
        pids_with(&["agent", "--socket", &socket.to_string_lossy()])
    }

    /// Kills the agent as a crash would.
    pub fn kill_agent(&self) {
        let pid = self.agent();
        host::signal(pid, Signal::KILL);
        eventually("the agent is gone", || !host::alive(pid));
    }

    /// Sends the agent a signal.
    pub fn signal_agent(&self, signal: Signal) {
        host::signal(self.agent(), signal);
    }

    /// What the first start told about the first login.
    ///
    /// # Panics
    /// It told nothing.
    pub fn first_password(&self) -> String {
        let told = std::fs::read_to_string(self.data().join("first-login.txt")).expect("the first login");
        told.lines().find_map(|line| line.strip_prefix("password ")).expect("the first password").to_owned()
    }

    /// Makes an account with this money and its first user, and signs him in.
    ///
    /// # Panics
    /// It is refused.
    pub fn renter(&self, name: &str, money: &str) -> Person {
        let made = self.operator.json(&["account", "create", name]);
        let mut person = Person::new(&text(&made["user"]), self.folder.path().join(name));
        person.account = text(&made["account"]["id"]);
        if money != "0" {
            self.operator.ok(&["account", "topup", &person.account, money]);
        }
        person.sign_in(&self.url, &text(&made["password"]));
        self.people.lock().expect("the people").push(person.clone());
        person
    }

    /// The books recomputed: nothing may differ.
    ///
    /// # Panics
    /// Something does.
    pub fn audit(&self) -> Value {
        let report = self.operator.json(&["audit"]);
        assert_eq!(report["differences"], serde_json::json!([]), "{report}");
        report
    }

    /// Cards of a model that can be rented now.
    ///
    /// # Panics
    /// The site does not list the model.
    pub fn free(&self, gpu: &str) -> i64 {
        let offers = self.operator.json(&["offers", "--gpu", gpu]);
        offers["offers"].as_array().and_then(|all| all.first()).map_or(0, |offer| offer["free"].as_i64().expect("free"))
    }

    /// The number that the machine gives to an instance's first process.
    ///
    /// # Panics
    /// The agent has written none down.
    pub fn first_process(&self, id: &str) -> i32 {
        let meta = self.meta(id).unwrap_or_else(|| panic!("{id} is not on the machine"));
        let pid = meta["init"]["pid"].as_i64().unwrap_or_else(|| panic!("no first process in {meta}"));
        i32::try_from(pid).expect("a process number")
    }

    fn meta(&self, id: &str) -> Option<Value> {
        let path = self.state().join("instances").join(id).join("meta.json");
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    /// Instances of which the machine has anything.
    pub fn on_the_machine(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.state().join("instances"));
        let entries = entries.map(|all| all.flatten().collect::<Vec<_>>()).unwrap_or_default();
        entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Slugs of everything that the machine has or the people ever rented.
    pub fn slugs(&self) -> Vec<String> {
        let here = self.on_the_machine().into_iter().filter_map(|id| self.meta(&id));
        let mut slugs: Vec<_> = here.map(|meta| text(&meta["spec"]["instance"]["slug"])).collect();
        for person in self.people.lock().expect("the people").iter() {
            slugs.extend(person.slugs());
        }
        slugs
    }

    /// Checks that no instance is left, in the books or on the machine.
    ///
    /// # Panics
    /// Something is.
    pub fn assert_nothing_left(&self) {
        for person in self.people.lock().expect("the people").iter() {
            let list = person.ok(&["ls", "--json"]);
            assert!(!list.contains("ins-"), "{} still has {list}", person.name);
        }
        assert_eq!(self.on_the_machine(), Vec::<String>::new());
        assert_eq!(Traces::of(&self.slugs(), self.users()), Traces::default());
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if std::thread::panicking() {
            if let Some(job) = &*self.server() {
                eprintln!("--- the server said\n{}", job.err());
            }
            eprintln!("--- the agent said\n{}", self.agent_log());
        }
        // By force and from above: what is ended first cannot bring back the rest.
        drop(self.server().take());
        self.sweeper.sweep();
        drop(self.tmpfs.take());
    }
}
