//! The init and helper inside every instance.
//!
//! It is the first process of the instance: it collects orphans, ends everything
//! when asked, and answers streams of [`link::Frame`]s on a Unix socket (commands,
//! terminals, connections to local ports, file transfer). One thread per stream,
//! no runtime, no name look-ups, so that it runs in any image.

mod detach;
mod dial;
mod entry;
mod exec;
mod failure;
mod get;
mod house;
mod init;
mod look;
mod on_start;
mod poll;
mod pty;
mod put;
mod reaper;
mod serve;
mod session;
mod surroundings;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "Usage: suanli-guest init --socket PATH [--on-start CMD] [--log PATH] [--grace-ms N]

  --socket PATH    Unix socket to answer on
  --on-start CMD   shell command that runs once, in the home directory
  --log PATH       file for the helper's own messages; default: standard error
  --grace-ms N     milliseconds that processes get to end after SIGTERM; default 5000
  --workspace PATH folder that is made if it is missing
  --detach         go on in the background once streams are answered, inside a
                   system that has a first process of its own";

/// What the command line asks for.
struct Arguments {
    socket: PathBuf,
    on_start: Option<String>,
    log: Option<PathBuf>,
    grace: Duration,
    workspace: Option<PathBuf>,
    detach: bool,
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    match words.next().as_deref() {
        Some("init") => {}
        Some(other) => return Err(format!("unknown command `{}`", other.escape_debug())),
        None => return Err("a command is missing".into()),
    }
    let mut socket = None;
    let mut arguments = Arguments {
        socket: PathBuf::new(),
        on_start: None,
        log: None,
        grace: Duration::from_millis(5000),
        workspace: None,
        detach: false,
    };
    while let Some(option) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--socket" => socket = Some(PathBuf::from(value()?)),
            "--on-start" => arguments.on_start = Some(value()?),
            "--workspace" => arguments.workspace = Some(PathBuf::from(value()?)),
            "--detach" => arguments.detach = true,
            "--log" => arguments.log = Some(PathBuf::from(value()?)),
            "--grace-ms" => {
                let text = value()?;
                let millis = text.parse().map_err(|_| format!("--grace-ms: `{}` is not a number", text.escape_debug()));
                arguments.grace = Duration::from_millis(millis?);
            }
            other => return Err(format!("unknown option `{}`", other.escape_debug())),
        }
    }
    arguments.socket = socket.ok_or("--socket is missing")?;
    Ok(arguments)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") && words.first().map(String::as_str) != Some("init") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let arguments = match parse(words.into_iter()) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("suanli-guest: {why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Some(workspace) = &arguments.workspace {
        // Without it everything still works, only elsewhere.
        let _ = std::fs::create_dir_all(workspace);
    }
    let outcome = if arguments.detach {
        detach::detach(&arguments.socket, |ready| init::run(&arguments, ready))
    } else {
        init::run(&arguments, || ())
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("suanli-guest: {why}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Arguments, String> {
        parse(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn arguments_are_read() {
        let all = ["init", "--socket", "/s", "--on-start", "make", "--log", "/l", "--grace-ms", "70", "--detach"];
        let arguments = parsed(&all).unwrap();
        assert_eq!(arguments.socket, PathBuf::from("/s"));
        assert_eq!(arguments.on_start.as_deref(), Some("make"));
        assert_eq!(arguments.log, Some(PathBuf::from("/l")));
        assert_eq!(arguments.grace, Duration::from_millis(70));
        assert!(arguments.detach && arguments.workspace.is_none());
        assert_eq!(parsed(&["init", "--socket", "/s"]).unwrap().grace, Duration::from_secs(5));
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (words, part) in [
            (&[][..], "missing"),
            (&["run"], "run"),
            (&["init"], "--socket"),
            (&["init", "--socket"], "--socket"),
            (&["init", "--socket", "/s", "--grace-ms", "soon"], "soon"),
            (&["init", "--socket", "/s", "--verbose"], "--verbose"),
        ] {
            let why = parsed(words).err().unwrap();
            assert!(why.contains(part), "{why}");
        }
    }
}
