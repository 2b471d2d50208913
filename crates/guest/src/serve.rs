//! Accepting streams and leading each to its end.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use link::{Control, Frame, Open};
use rustix::fs::Mode;

use crate::failure::{Failure, cause};
use crate::house::House;
use crate::wire::Wire;
use crate::{dial, exec, get, look, put};

const STACK: usize = 256 * 1024;

/// Opens the socket for its owner alone. It appears under its name only when it
/// already answers, so its existence is a sign of readiness.
///
/// # Errors
/// What the system says.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    // Short, because the name of a socket is limited to 107 bytes.
    let passing = folder.join(".new");
    for stale in [path, &passing] {
        match std::fs::remove_file(stale) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let old = rustix::process::umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
    let bound = UnixListener::bind(&passing);
    rustix::process::umask(old);
    let listener = bound?;
    std::fs::rename(&passing, path)?;
    Ok(listener)
}

/// Accepts streams for ever, one thread each.
pub fn accept(listener: &UnixListener, house: &Arc<House>) {
    loop {
        match listener.accept() {
            Ok((socket, _)) => begin(socket, house),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                house.log(format_args!("a stream could not be accepted: {error}"));
                // Out of descriptors or memory: others must end before it can get better.
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

fn begin(socket: UnixStream, house: &Arc<House>) {
    let spare = socket.try_clone();
    let shared = Arc::clone(house);
    let thread = std::thread::Builder::new().name("stream".into()).stack_size(STACK);
    if let Err(error) = thread.spawn(move || lead(socket, &shared)) {
        house.log(format_args!("a stream got no thread: {error}"));
        let message = "the instance's process limit is reached: end something inside and try again".to_owned();
        let refusal = Frame::Control(Control::Error { cause: cause::UNAVAILABLE.into(), message });
        if let Ok(mut spare) = spare {
            // The first bytes of a fresh socket fit into its buffer: this cannot block.
            let _ = refusal.write(&mut spare);
        }
    }
}

fn lead(socket: UnixStream, house: &House) {
    let mut wire = match Wire::new(socket) {
        Ok(wire) => wire,
        Err(error) => return house.log(format_args!("a stream could not be prepared: {error}")),
    };
    {
        // Until the last word is said, so that the end of the instance waits for it.
        let _counted;
        let last = match first(&mut wire) {
            Ok(open) => {
                if matches!(open, Open::Exec { .. }) {
                    _counted = house.command();
                }
                answer(&mut wire, house, open).unwrap_or_else(Failure::into_frame)
            }
            Err(failure) => failure.into_frame(),
        };
        match last {
            Some(last) => wire.finish(last),
            None => return,
        }
    }
    wire.linger();
}

fn first(wire: &mut Wire) -> Result<Open, Failure> {
    match wire.receive()? {
        Some(Frame::Control(Control::Open(open))) => Ok(open),
        Some(_) => Err(Failure::invalid("the first frame of a stream must say what it is for")),
        None => Err(Failure::Gone),
    }
}

/// Leads a stream to its end and returns the last frame.
fn answer(wire: &mut Wire, house: &House, open: Open) -> Result<Option<Control>, Failure> {
    let code = match open {
        Open::Exec { argv, env, cwd, terminal } => exec::run(wire, house, exec::Request { argv, env, cwd, terminal })?,
        Open::Dial { port } => dial::run(wire, port).map(|()| 0)?,
        Open::Put { path } => put::run(wire, &house.surroundings.resolve(&path)).map(|()| 0)?,
        Open::Get { path } => get::run(wire, &house.surroundings.resolve(&path)).map(|()| 0)?,
        Open::Look => return Ok(Some(look::seen(Path::new("/dev"), house.on_start_exit.get().copied()))),
    };
    Ok(Some(Control::Exit { code }))
}
