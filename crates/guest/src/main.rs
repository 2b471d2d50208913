//! The init and helper inside every instance.
//!
//! It is the first process of the instance: it collects orphans, ends everything
//! when asked, and answers streams of [`link::Frame`]s on a Unix socket (commands,
//! terminals, connections to local ports, file transfer). One thread per stream,
//! no runtime, no name look-ups, so that it runs in any image.

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
  --grace-ms N     milliseconds that processes get to end after SIGTERM; default 5000";

/// What the command line asks for.
struct Arguments {
    socket: PathBuf,
    on_start: Option<String>,
    log: Option<PathBuf>,
    grace: Duration,
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    match words.next().as_deref() {
        Some("init") => {}
        Some(other) => return Err(format!("unknown command `{}`", other.escape_debug())),
        None => return Err("a command is missing".into()),
    }
    let mut socket = None;
    let mut arguments =
        Arguments { socket: PathBuf::new(), on_start: None, log: None, grace: Duration::from_millis(5000) };
    while let Some(option) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--socket" => socket = Some(PathBuf::from(value()?)),
            "--on-start" => arguments.on_start = Some(value()?),
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
    match init::run(&arguments.socket, arguments.on_start, arguments.log.as_deref(), arguments.grace) {
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
        let all = ["init", "--socket", "/s", "--on-start", "make", "--log", "/l", "--grace-ms", "70"];
        let arguments = parsed(&all).unwrap();
        assert_eq!(arguments.socket, PathBuf::from("/s"));
        assert_eq!(arguments.on_start.as_deref(), Some("make"));
        assert_eq!(arguments.log, Some(PathBuf::from("/l")));
        assert_eq!(arguments.grace, Duration::from_millis(70));
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
