//! Pseudo-terminals.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use link::Size;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, ptsname, unlockpt};
use rustix::termios::{InputModes, OptionalActions, Winsize, tcgetattr, tcgetpgrp, tcsetattr, tcsetwinsize};

/// Our side of a pseudo-terminal.
pub struct Terminal(File);

impl Terminal {
    /// Makes a terminal of the given size: our side, and the side for the command.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(size: Size) -> io::Result<(Self, OwnedFd)> {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let theirs = match ioctl_tiocgptpeer(&ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC) {
            Ok(theirs) => theirs,
            // Refused by some sandboxes; the name works wherever /dev/pts is mounted.
            Err(_) => {
                let name = ptsname(&ours, Vec::new())?;
                rustix::fs::open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?
            }
        };
        // Without it, backspace in the line editor of the kernel removes one byte of
        // a Chinese character instead of the character.
        let mut modes = tcgetattr(&theirs)?;
        modes.input_modes |= InputModes::IUTF8;
        tcsetattr(&theirs, OptionalActions::Now, &modes)?;
        let terminal = Self(File::from(ours));
        terminal.resize(size);
        Ok((terminal, theirs))
    }

    /// Another handle on our side, for reading and writing.
    ///
    /// # Errors
    /// What the system says.
    pub fn handle(&self) -> io::Result<File> {
        self.0.try_clone()
    }

    /// Gives the terminal a new size; the kernel tells the foreground processes.
    pub fn resize(&self, size: Size) {
        let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
        // Fails only when the terminal is gone already, and then nobody looks at it.
        let _ = tcsetwinsize(&self.0, size);
    }

    /// The process group in the foreground, if there is one.
    pub fn foreground(&self) -> Option<i32> {
        tcgetpgrp(&self.0).ok().map(|group| group.as_raw_nonzero().get()).filter(|group| *group > 1)
    }
}
