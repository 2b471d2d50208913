//! Somebody who uses the command line.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base::Timestamp;
use serde_json::Value;

use crate::{Job, Ran, suanli};

/// One user with a saved login of his own.
#[derive(Clone, Debug)]
pub struct Person {
    /// His name.
    pub name: String,
    /// His account, where he has one.
    pub account: String,
    /// Where his logins and the output of his runs are.
    pub home: PathBuf,
}

impl Person {
    /// Somebody who has not signed in.
    ///
    /// # Panics
    /// His folder cannot be made.
    pub fn new(name: &str, home: PathBuf) -> Self {
        std::fs::create_dir_all(&home).expect("a folder for a person");
        Self { name: name.to_owned(), account: String::new(), home }
    }

    /// The program as he would call it.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(suanli());
        command.args(words);
        self.dress(&mut command);
        command
    }

    /// Gives a command his environment.
    pub fn dress(&self, command: &mut Command) {
        for name in ["SUANLI_URL", "SUANLI_TOKEN", "SUANLI_SECRET_KEY", "SUANLI_LOG", "RUST_LOG", "NO_COLOR"] {
            command.env_remove(name);
        }
        command.env("XDG_CONFIG_HOME", &self.home).env("TZ", "UTC").stdin(Stdio::null());
    }

    /// Starts the program and lets it run.
    pub fn start(&self, words: &[&str]) -> Job {
        Job::start(self.command(words), &self.home)
    }

    /// Runs the program to its end.
    pub fn run(&self, words: &[&str]) -> Ran {
        self.start(words).finish()
    }

    /// Runs the program, which must go well; what it printed.
    ///
    /// # Panics
    /// It does not.
    pub fn ok(&self, words: &[&str]) -> String {
        self.run(words).ok().out
    }

    /// Runs the program with `--json`, which must go well.
    ///
    /// # Panics
    /// It does not.
    pub fn json(&self, words: &[&str]) -> Value {
        self.run(&[&["--json"], words].concat()).ok().json()
    }

    /// Signs in.
    ///
    /// # Panics
    /// It is refused.
    pub fn sign_in(&self, url: &str, password: &str) {
        let file = self.home.join("password");
        std::fs::write(&file, password).expect("a password file");
        let path = file.to_string_lossy();
        self.ok(&["login", url, "--user", &self.name, "--password-file", &path]);
    }

    /// The same person with the same login at another server of the site.
    ///
    /// # Panics
    /// He is not signed in.
    pub fn moved_to(&self, url: &str, home: &Path) -> Self {
        let login = |home: &Path| home.join("suanli/login.toml");
        std::fs::create_dir_all(home.join("suanli")).expect("a folder for a person");
        let saved = std::fs::read_to_string(login(&self.home)).expect("a saved login");
        let moved: Vec<_> = saved
            .lines()
            .map(|line| if line.starts_with("url ") { format!("url = \"{url}\"") } else { line.to_owned() })
            .collect();
        std::fs::write(login(home), moved.join("\n")).expect("a saved login");
        Self { home: home.to_owned(), ..self.clone() }
    }

    /// The password that he last signed in with.
    ///
    /// # Panics
    /// He never did.
    pub fn password(&self) -> String {
        std::fs::read_to_string(self.home.join("password")).expect("a password file")
    }

    /// His bearer token.
    ///
    /// # Panics
    /// He is not signed in.
    pub fn token(&self) -> String {
        let saved = std::fs::read_to_string(self.home.join("suanli/login.toml")).expect("a saved login");
        let token = saved.lines().find_map(|line| line.strip_prefix("token = \""));
        token.expect("a token").trim_end_matches('"').to_owned()
    }

    /// The id of what he calls `name`, released or not; nothing while nobody answers.
    pub fn listed(&self, name: &str) -> Option<Option<String>> {
        let ran = self.run(&["--json", "ls", "--all"]);
        let list = (ran.code == 0).then(|| ran.json())?;
        Some(list["items"].as_array()?.iter().find(|i| i["name"] == name).map(|i| text(&i["id"])))
    }

    /// Rents one card of this model with these further flags, ready to be used; its id.
    ///
    /// # Panics
    /// It is refused.
    pub fn rent(&self, gpu: &str, more: &[&str]) -> String {
        let view = self.json(&[&["rent", "--gpu", gpu, "--disk", "1", "--wait"], more].concat());
        assert_eq!(view["state"], "running");
        text(&view["id"])
    }

    /// Runs a shell command inside, which must go well; what it printed, trimmed.
    ///
    /// # Panics
    /// It does not.
    pub fn inside(&self, id: &str, line: &str) -> String {
        self.ok(&["exec", id, "--", "sh", "-c", line]).trim().to_owned()
    }

    /// An instance as `show` tells it.
    ///
    /// # Panics
    /// It is refused.
    pub fn show(&self, id: &str) -> Value {
        self.json(&["show", id])
    }

    /// Where an instance is.
    pub fn state(&self, id: &str) -> String {
        text(&self.show(id)["state"])
    }

    /// Waits until an instance is in a state.
    ///
    /// # Panics
    /// It never is.
    pub fn wait_for(&self, id: &str, state: &str) -> Value {
        crate::soon(&format!("{id} is {state}"), || Some(self.show(id)).filter(|view| view["state"] == state))
    }

    /// Events of an instance of one kind, oldest first.
    ///
    /// # Panics
    /// They cannot be read.
    pub fn events(&self, id: &str, kind: &str) -> Vec<Value> {
        let all = self.json(&["events", id]);
        let all = all["items"].as_array().or(all["events"].as_array()).expect("a list of events").clone();
        all.into_iter().filter(|event| event["kind"] == kind).collect()
    }

    /// Slugs of everything that he ever rented.
    pub fn slugs(&self) -> Vec<String> {
        let ran = self.run(&["--json", "ls", "--all"]);
        let list: Value = serde_json::from_str(&ran.out).unwrap_or_default();
        let items = list["items"].as_array().or(list["instances"].as_array()).or(list.as_array()).cloned();
        items.unwrap_or_default().iter().map(|item| text(&item["slug"])).collect()
    }
}

/// A text of JSON.
///
/// # Panics
/// It is something else.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// A time of JSON.
///
/// # Panics
/// It is something else.
pub fn at(value: &Value) -> Timestamp {
    text(value).parse().unwrap_or_else(|e| panic!("{value}: {e}"))
}
