//! The command that the renter wants run once after start.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::exec::independent;
use crate::house::House;
use crate::poll::Poll;

/// What a shell reports for a program that could not be started.
const NOT_STARTED: i32 = 127;

/// Name of the file, beside the socket, that holds the exit status.
pub const EXIT_FILE: &str = "on-start.exit";

/// Starts `line` in the background. Its exit status is remembered in the house and
/// written to [`EXIT_FILE`] in `folder`, for whoever watches from outside.
pub fn start(house: &Arc<House>, line: String, folder: PathBuf) {
    let inside = Arc::clone(house);
    let work = move || {
        let _counted = inside.command();
        let code = run(&inside, &line);
        let _ = inside.on_start_exit.set(code);
        if let Err(error) = tell(&folder, code) {
            inside.log(format_args!("the exit status of on-start could not be written: {error}"));
        }
        inside.log(format_args!("on-start ended with {code}"));
    };
    let thread = std::thread::Builder::new().name("on-start".into()).stack_size(128 * 1024).spawn(work);
    if let Err(error) = thread {
        house.log(format_args!("on-start could not be started: {error}"));
        let _ = house.on_start_exit.set(NOT_STARTED);
    }
}

fn run(house: &House, line: &str) -> i32 {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).env_clear().envs(&house.surroundings.env);
    command.current_dir(house.surroundings.working_directory()).stdin(Stdio::null());
    match log(house).and_then(|file| Ok((file.try_clone()?, file))) {
        Ok((copy, file)) => {
            command.stdout(copy).stderr(file);
        }
        Err(error) => {
            house.log(format_args!("on-start runs without a log: {error}"));
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
    }
    independent(&mut command, house.open_files, false);
    let child = match house.children.spawn(&mut command, false) {
        Ok((child, _)) => child,
        Err(error) => {
            house.log(format_args!("on-start could not be started: {error}"));
            return NOT_STARTED;
        }
    };
    loop {
        if let Some(code) = child.status() {
            return code;
        }
        let mut poll = Poll::default();
        poll.add(&child, true, false);
        // An error here cannot be acted upon; the next turn asks again.
        let _ = poll.wait(None);
    }
}

/// Opens the log where the renter finds it again after a restart.
fn log(house: &House) -> io::Result<File> {
    let workspace = Path::new("/workspace");
    let places = [workspace.is_dir().then_some(workspace), Some(house.surroundings.home.as_path())];
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for place in places.into_iter().flatten() {
        let folder = place.join(".suanli");
        let opened = std::fs::create_dir_all(&folder)
            .and_then(|()| OpenOptions::new().append(true).create(true).open(folder.join("on-start.log")));
        match opened {
            Ok(file) => return Ok(file),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Writes the status under a passing name first, so that a reader never sees half of it.
fn tell(folder: &Path, code: i32) -> io::Result<()> {
    let passing = folder.join(".on-start.exit.new");
    let mut file = File::create(&passing)?;
    writeln!(file, "{code}")?;
    std::fs::rename(passing, folder.join(EXIT_FILE))
}
