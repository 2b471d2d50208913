//! A shell in an instance.

use clap::Args;
use link::Open;

use super::Outcome;
use super::exec::{environment, wanted_terminal};
use crate::session::{Tie, tie};
use crate::{login_file, terminal};

/// Open a shell in an instance, or run a shell command there
///
/// On a terminal, ~. at the beginning of a line leaves a shell that does not
/// answer any more.
#[derive(Debug, Args)]
pub struct Ssh {
    /// Id, slug or name of the instance
    id: String,
    /// Give the command a terminal; a shell has one anyway
    #[arg(short = 't', long)]
    tty: bool,
    /// A command line for the shell there
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

impl Ssh {
    pub async fn run(self) -> Outcome {
        let shell = self.command.is_empty();
        let tty = self.tty || (shell && terminal::is_interactive());
        // As ssh does: the words are one line for the shell there.
        let line = self.command.join(" ");
        let argv = match (shell, tty) {
            (true, true) => Vec::new(),
            // Without a terminal a login shell reads its commands from the input.
            (true, false) => vec!["/bin/sh".into(), "-l".into(), "-s".into()],
            (false, _) => vec!["/bin/sh".into(), "-c".into(), line],
        };
        let open = Open::Exec { argv, env: environment(Vec::new(), tty), cwd: None, terminal: wanted_terminal(tty) };
        let stream = login_file::client()?.stream(&self.id, open).await?;
        let raw = tty && terminal::is_interactive();
        Ok(tie(stream, Tie { terminal: raw, input: true, signals: true }).await?)
    }
}
