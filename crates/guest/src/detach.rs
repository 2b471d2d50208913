//! Going on in the background, for systems that have a first process of their own.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::process::setsid;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

/// Runs `work` in a process of its own, and returns in this one when `work` says that
/// it is ready, or has ended before that.
///
/// # Errors
/// What `work` said before it was ready.
pub fn detach(socket: &Path, work: impl FnOnce(&mut dyn FnMut()) -> Result<(), String>) -> Result<(), String> {
    let (read, write) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| format!("a pipe: {e}"))?;
    // SAFETY: no thread exists yet, so the child is a whole copy of this process.
    match unsafe { libc::fork() } {
        -1 => Err(format!("a process: {}", std::io::Error::last_os_error())),
        0 => {
            drop(read);
            let mut told = Some(File::from(write));
            let outcome = leave_terminal().and_then(|()| {
                work(&mut || {
                    // Nothing written means: all is well.
                    told = None;
                })
            });
            if let (Err(why), Some(told)) = (&outcome, &mut told) {
                let _ = told.write_all(why.as_bytes());
            }
            std::process::exit(i32::from(outcome.is_err()));
        }
        _ => {
            drop(write);
            let mut why = String::new();
            // Ends when the child has closed its side, by being ready or by ending.
            File::from(read).read_to_string(&mut why).map_err(|e| format!("the pipe: {e}"))?;
            if !why.is_empty() {
                return Err(why);
            }
            if socket.exists() { Ok(()) } else { Err("it ended at once".into()) }
        }
    }
}

/// Away from the terminal and the channels of whoever started us.
fn leave_terminal() -> Result<(), String> {
    setsid().map_err(|e| format!("a session: {e}"))?;
    let nothing = File::options().read(true).write(true).open("/dev/null").map_err(|e| format!("/dev/null: {e}"))?;
    let nothing = nothing.as_fd();
    dup2_stdin(nothing)
        .and_then(|()| dup2_stdout(nothing))
        .and_then(|()| dup2_stderr(nothing))
        .map_err(|e| e.to_string())?;
    std::env::set_current_dir("/").map_err(|e| e.to_string())
}
