//! A command in an instance.

use std::collections::BTreeMap;

use clap::Args;
use link::{Open, Size};

use super::Outcome;
use super::rent::assignment;
use crate::session::{Tie, tie};
use crate::{login_file, terminal};

/// Run a command in an instance and end with its exit status
#[derive(Debug, Args)]
pub struct Exec {
    /// Id, slug or name of the instance
    id: String,
    /// Give the command a terminal
    #[arg(short = 't', long)]
    tty: bool,
    /// Environment of the command; may be given many times
    #[arg(short = 'e', long, value_name = "K=V", value_parser = assignment)]
    env: Vec<(String, String)>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

impl Exec {
    pub async fn run(self) -> Outcome {
        let open = Open::Exec {
            argv: self.command,
            env: environment(self.env, self.tty),
            cwd: None,
            terminal: wanted_terminal(self.tty),
        };
        let stream = login_file::client()?.stream(&self.id, open).await?;
        // A terminal without keys, as in a script, is passed what the script has.
        let raw = self.tty && terminal::is_interactive();
        Ok(tie(stream, Tie { terminal: raw, input: true, signals: true }).await?)
    }
}

/// What a command gets: the caller's own wishes, and the kind of terminal.
pub fn environment(wishes: Vec<(String, String)>, tty: bool) -> BTreeMap<String, String> {
    let mut env: BTreeMap<_, _> = wishes.into_iter().collect();
    if tty && let Ok(kind) = std::env::var("TERM") {
        env.entry("TERM".into()).or_insert(kind);
    }
    env
}

/// The size of this terminal, where one is wanted.
pub fn wanted_terminal(tty: bool) -> Option<Size> {
    tty.then(terminal::size)
}
