//! Starting commands.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use link::{Control, Frame, Size};
use rustix::process::Rlimit;

use crate::failure::{Failure, cause};
use crate::house::House;
use crate::pty::Terminal;
use crate::session::Session;
use crate::surroundings::login_shell;
use crate::wire::Wire;

/// What the caller wants to run.
pub struct Request {
    /// Program and arguments; empty: the login shell.
    pub argv: Vec<String>,
    /// Added to the environment.
    pub env: BTreeMap<String, String>,
    /// Working directory.
    pub cwd: Option<String>,
    /// Wanted terminal.
    pub terminal: Option<Size>,
}

/// Runs a command to its end and returns its exit status.
///
/// # Errors
/// Refused when it could not be started or the stream broke the rules; gone when
/// the caller went away. Either way nothing of its process group is left.
pub fn run(wire: &mut Wire, house: &House, request: Request) -> Result<i32, Failure> {
    let mut session = start(house, &request)?;
    let result = match wire.push(&Frame::Control(Control::Started)) {
        Ok(()) => session.carry(wire),
        Err(failure) => Err(failure),
    };
    if result.is_err() {
        session.abandon();
    }
    result
}

/// Makes a new process independent of the helper: own session, default signals,
/// ordinary limit of open files. With `terminal`, descriptor 0 becomes its terminal.
pub fn independent(command: &mut Command, open_files: Rlimit, terminal: bool) {
    let limit = |value: Option<u64>| value.unwrap_or(libc::RLIM_INFINITY);
    let limit = libc::rlimit { rlim_cur: limit(open_files.current), rlim_max: limit(open_files.maximum) };
    let prepare = move || {
        // SAFETY: only system calls on plain values, allowed between fork and exec.
        unsafe {
            if libc::setsid() < 0 {
                return Err(io::Error::last_os_error());
            }
            if terminal && libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                return Err(io::Error::last_os_error());
            }
            for signal in 1..32 {
                if signal != libc::SIGKILL && signal != libc::SIGSTOP {
                    libc::signal(signal, libc::SIG_DFL);
                }
            }
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls only and touches no memory but its own.
    unsafe { command.pre_exec(prepare) };
}

fn start<'a>(house: &'a House, request: &Request) -> Result<Session<'a>, Failure> {
    let mut command = prepare(house, request)?;
    let mut terminal = None;
    if let Some(size) = request.terminal {
        let (ours, theirs) = Terminal::open(size).map_err(|error| Failure::system("making a terminal", &error))?;
        let copy = || theirs.try_clone().map_err(|error| Failure::system("making a terminal", &error));
        command.stdin(copy()?).stdout(copy()?).stderr(theirs);
        terminal = Some(ours);
    } else {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    independent(&mut command, house.open_files, terminal.is_some());
    let started = house.children.spawn(&mut command, terminal.is_some());
    let program = command.get_program().to_string_lossy().into_owned();
    let (child, pipes) = started.map_err(|error| start_failure(&program, &error))?;
    // It holds the command's side of the terminal: kept open, we would never see its end.
    drop(command);
    Session::attach(house, child, terminal, pipes)
}

fn prepare(house: &House, request: &Request) -> Result<Command, Failure> {
    let mut env = house.surroundings.env.clone();
    if request.terminal.is_some() {
        env.entry("TERM".into()).or_insert_with(|| "xterm-256color".into());
    }
    for (name, value) in &request.env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let message = format!("`{}` cannot be set in the environment", name.escape_debug());
            return Err(Failure::invalid(message));
        }
        env.insert(name.into(), value.into());
    }
    let cwd = match &request.cwd {
        Some(cwd) => house.surroundings.resolve(cwd),
        None => house.surroundings.working_directory().to_owned(),
    };
    if !cwd.is_dir() {
        let shown = cwd.to_string_lossy();
        return Err(Failure::invalid(format!("the working directory {} does not exist", shown.escape_debug())));
    }
    let mut command = match request.argv.split_first() {
        Some((program, arguments)) => {
            let path = env.get(&OsString::from("PATH"));
            find(program, &cwd, path)?;
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
        None => {
            let mut command = Command::new(login_shell(&env));
            command.arg("-l");
            command
        }
    };
    command.env_clear().envs(env).current_dir(cwd);
    Ok(command)
}

/// Says early and clearly that there is no such program. What else can be wrong is
/// left to the system to find.
fn find(program: &str, cwd: &Path, path: Option<&OsString>) -> Result<(), Failure> {
    let found = if program.contains('/') {
        cwd.join(program).exists()
    } else {
        let places = path.into_iter().flat_map(std::env::split_paths);
        let mut candidates = places.map(|place| cwd.join(place).join(program));
        !program.is_empty() && candidates.any(|file: PathBuf| file.is_file())
    };
    if found {
        Ok(())
    } else {
        Err(Failure::invalid(format!("there is no program `{}` inside", program.escape_debug())))
    }
}

fn start_failure(program: &str, error: &io::Error) -> Failure {
    let program = program.escape_debug();
    match error.raw_os_error() {
        Some(libc::ENOENT) => {
            Failure::invalid(format!("`{program}` cannot be started: the interpreter that it names does not exist"))
        }
        Some(libc::EACCES) => Failure::invalid(format!("`{program}` cannot be started: it is not executable")),
        Some(libc::ENOEXEC) => Failure::invalid(format!("`{program}` is not a program for this machine")),
        Some(libc::E2BIG) => Failure::invalid("arguments and environment are too long"),
        None if error.kind() == io::ErrorKind::InvalidInput => Failure::invalid("an argument contains a zero byte"),
        None if error.kind() == io::ErrorKind::Interrupted => {
            Failure::Refused(cause::UNAVAILABLE, "the instance is stopping".into())
        }
        _ => Failure::system(&format!("`{program}` cannot be started"), error),
    }
}
