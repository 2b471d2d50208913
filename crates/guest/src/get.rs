//! Packing a file or folder into an archive for outside.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use link::{Control, Frame};
use tar::{Builder, EntryType, Header};

use crate::entry::shown;
use crate::failure::{Failure, cause};
use crate::wire::Wire;

const FRAME_SIZE: usize = 64 * 1024;

/// Sends `path` as an archive. A symbolic link at `path` itself is followed, links
/// below it are kept; sockets, pipes and devices are left out.
///
/// # Errors
/// Refused when something cannot be read; or the caller is gone.
pub fn run(wire: &mut Wire, path: &Path) -> Result<(), Failure> {
    let facts = match fs::metadata(path) {
        // A link that leads nowhere is sent as it is.
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::symlink_metadata(path),
        other => other,
    };
    let facts = facts.map_err(|error| failed(path, &error))?;
    if !(facts.is_file() || facts.is_dir() || facts.is_symlink()) {
        let name = shown(path.as_os_str().as_bytes());
        return Err(Failure::invalid(format!("{name} is neither a file nor a folder")));
    }
    wire.send(&Frame::Control(Control::Started))?;
    let mut builder = Builder::new(Output { wire, buffer: Vec::with_capacity(FRAME_SIZE) });
    walk(&mut builder, path, facts)?;
    let mut output = builder.into_inner().map_err(|_| Failure::Gone)?;
    output.flush().map_err(|_| Failure::Gone)
}

/// Output to the caller in whole frames.
struct Output<'a> {
    wire: &'a mut Wire,
    buffer: Vec<u8>,
}

impl Write for Output<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let count = data.len().min(FRAME_SIZE - self.buffer.len());
        self.buffer.extend_from_slice(&data[..count]);
        if self.buffer.len() == FRAME_SIZE {
            self.flush()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(FRAME_SIZE));
        // An empty payload would mean the end, so only full ones go out.
        self.wire.send(&Frame::Stdout(full)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// Adds `path` and all below it. The list of what is still to do takes the place of
/// recursion, which a deep tree could drive to the end of the stack.
fn walk(builder: &mut Builder<Output<'_>>, path: &Path, facts: Metadata) -> Result<(), Failure> {
    let mut todo = vec![(path.to_owned(), first_name(path), facts)];
    while let Some((path, name, facts)) = todo.pop() {
        add(builder, &path, &name, &facts)?;
        if !facts.is_dir() {
            continue;
        }
        let mut below = Vec::new();
        for entry in fs::read_dir(&path).map_err(|error| failed(&path, &error))? {
            let entry = entry.map_err(|error| failed(&path, &error))?;
            // Gone again in the meantime.
            let Ok(facts) = entry.metadata() else { continue };
            below.push((entry.path(), name.join(entry.file_name()), facts));
        }
        // The last is taken first: in this order the archive is sorted.
        below.sort_by(|(a, ..), (b, ..)| b.cmp(a));
        todo.extend(below);
    }
    Ok(())
}

/// What the entries' names begin with.
fn first_name(path: &Path) -> PathBuf {
    let own = path.file_name().map(OsStr::to_owned);
    // `..` and `.` have a name only once they are resolved; the root has none at all.
    let resolved = || fs::canonicalize(path).ok()?.file_name().map(OsStr::to_owned);
    let last_is_dots = path.as_os_str().as_bytes().ends_with(b"/.");
    own.filter(|_| !last_is_dots).or_else(resolved).unwrap_or_else(|| OsString::from("root")).into()
}

fn add(builder: &mut Builder<Output<'_>>, path: &Path, name: &Path, facts: &Metadata) -> Result<(), Failure> {
    let mut header = Header::new_gnu();
    header.set_mode(facts.permissions().mode() & 0o7777);
    header.set_mtime(u64::try_from(facts.mtime()).unwrap_or(0));
    header.set_uid(u64::from(facts.uid()));
    header.set_gid(u64::from(facts.gid()));
    header.set_size(0);
    // Writing fails only when the caller is gone; reading has its own messages.
    if facts.is_dir() {
        header.set_entry_type(EntryType::Directory);
        return builder.append_data(&mut header, name, io::empty()).map_err(|error| unwritten(name, &error));
    }
    if facts.is_symlink() {
        let Ok(to) = fs::read_link(path) else { return Ok(()) };
        header.set_entry_type(EntryType::Symlink);
        return builder.append_link(&mut header, name, to).map_err(|error| unwritten(name, &error));
    }
    if !facts.is_file() {
        return Ok(());
    }
    // Not blocking: a pipe may have taken the file's place in the meantime.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = match file {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(path, &error)),
    };
    let facts = file.metadata().map_err(|error| failed(path, &error))?;
    if !facts.is_file() {
        return Ok(());
    }
    header.set_entry_type(EntryType::Regular);
    header.set_size(facts.len());
    let mut contents = Contents { file, left: facts.len(), failure: None };
    let added = builder.append_data(&mut header, name, &mut contents);
    if let Some(error) = contents.failure {
        return Err(failed(path, &error));
    }
    if contents.left > 0 && added.is_ok() {
        let name = shown(path.as_os_str().as_bytes());
        let message = format!("{name} became shorter while it was read: try again when nothing writes to it");
        return Err(Failure::Refused(cause::UNAVAILABLE, message));
    }
    added.map_err(|error| unwritten(name, &error))
}

/// Exactly as many bytes as the header promised, however the file grows.
struct Contents {
    file: File,
    left: u64,
    failure: Option<io::Error>,
}

impl Read for Contents {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        match self.file.read(&mut buffer[..wanted]) {
            Ok(count) => {
                self.left -= count as u64;
                Ok(count)
            }
            Err(error) => {
                self.failure = Some(io::Error::from(error.kind()));
                Err(error)
            }
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::system(&shown(path.as_os_str().as_bytes()), error)
}

fn unwritten(name: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Gone,
        _ => {
            Failure::invalid(format!("`{}` cannot be put into an archive: {error}", shown(name.as_os_str().as_bytes())))
        }
    }
}
