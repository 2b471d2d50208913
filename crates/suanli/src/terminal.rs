//! The user's terminal: its size, raw mode, questions.

use std::io::{BufRead, IsTerminal, Write};
use std::os::fd::OwnedFd;

use base::{Cause, Error, Result};
use link::Size;
use rustix::termios::{self, LocalModes, OptionalActions, Termios};

/// A changed terminal mode that ends with this value, whatever happens before.
pub struct Mode {
    terminal: OwnedFd,
    before: Termios,
}

impl Mode {
    /// Every key goes through untouched.
    ///
    /// # Errors
    /// `invalid-request` when standard input is not a terminal.
    pub fn raw() -> Result<Self> {
        Self::change(Termios::make_raw)
    }

    /// Keys come at once and unseen; Ctrl-C still ends the program.
    ///
    /// # Errors
    /// As [`Mode::raw`].
    pub fn keys() -> Result<Self> {
        Self::change(|mode| mode.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO))
    }

    fn silent() -> Result<Self> {
        Self::change(|mode| mode.local_modes.remove(LocalModes::ECHO))
    }

    fn change(edit: impl FnOnce(&mut Termios)) -> Result<Self> {
        let failed = |e: rustix::io::Errno| {
            Error::new(Cause::InvalidRequest, "standard input is not a terminal that can be set").context(e)
        };
        // An own descriptor: the mode must come back even when standard input was closed.
        let terminal = rustix::io::dup(std::io::stdin()).map_err(failed)?;
        let before = termios::tcgetattr(&terminal).map_err(failed)?;
        let mut mode = before.clone();
        edit(&mut mode);
        termios::tcsetattr(&terminal, OptionalActions::Now, &mode).map_err(failed)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Mode {
    fn drop(&mut self) {
        // `Drain`: output that is still on its way was meant for the old mode.
        let _ = termios::tcsetattr(&self.terminal, OptionalActions::Drain, &self.before);
    }
}

/// Whether standard input and output are both a terminal.
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Whether a question can be asked: both ends of standard input and error are a terminal.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Size of the terminal; 24 × 80 where it does not tell.
pub fn size() -> Size {
    let told = termios::tcgetwinsize(std::io::stdout()).or_else(|_| termios::tcgetwinsize(std::io::stdin()));
    match told {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => Size { rows: size.ws_row, cols: size.ws_col },
        _ => Size { rows: 24, cols: 80 },
    }
}

/// Asks for a line of text.
///
/// # Errors
/// `invalid-request` when the input ends instead.
pub fn ask(question: &str) -> Result<String> {
    let mut err = std::io::stderr().lock();
    drop(err.write_all(question.as_bytes()).and_then(|()| err.flush()));
    read_line(std::io::stdin().lock())
}

/// Asks for a secret, which is not shown while it is typed. Ctrl-C ends the
/// program with the terminal as it was.
///
/// # Errors
/// As [`ask`].
pub async fn ask_secret(question: String) -> Result<String> {
    let mode = Mode::silent()?;
    let answer = tokio::task::spawn_blocking(move || ask(&question));
    let answer = tokio::select! {
        answer = answer => answer,
        _ = tokio::signal::ctrl_c() => {
            drop(mode);
            crate::output::write_note("\n");
            std::process::exit(130);
        }
    };
    drop(mode);
    crate::output::write_note("\n");
    answer.map_err(|e| Error::new(Cause::Internal, "the question broke off").context(e))?
}

/// Asks whether to go on; anything but `y` or `yes` means no.
///
/// # Errors
/// As [`ask`].
pub fn confirm(question: &str) -> Result<bool> {
    let answer = ask(&format!("{question} [y/N] "))?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// One line without its end.
///
/// # Errors
/// `invalid-request` when there is none.
pub fn read_line(mut from: impl BufRead) -> Result<String> {
    let mut line = String::new();
    let count = from
        .read_line(&mut line)
        .map_err(|e| Error::new(Cause::InvalidRequest, "standard input cannot be read as text").context(e))?;
    if count == 0 {
        return Err(Error::new(Cause::InvalidRequest, "standard input ended before an answer came"));
    }
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_loses_only_its_end() {
        assert_eq!(read_line(" pass word \r\nnext".as_bytes()).unwrap(), " pass word ");
        assert_eq!(read_line("last".as_bytes()).unwrap(), "last");
        assert!(read_line("".as_bytes()).is_err());
    }
}
