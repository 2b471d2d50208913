//! The whole terminal for a live view, given back at the end.

use base::Result;
use tokio::sync::mpsc;

use crate::output::print;
use crate::terminal::{self, Mode};

/// Other screen, no cursor, no line wrap.
const OPEN: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const CLOSE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// The terminal while it shows a live view.
pub struct Screen {
    keys: mpsc::Receiver<()>,
    _mode: Mode,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// `invalid-request` when there is none.
    pub fn open() -> Result<Self> {
        let mode = Mode::keys()?;
        let (pressed, keys) = mpsc::channel(1);
        // Ends with the program: a read of a terminal cannot be cancelled.
        std::thread::spawn(move || {
            use std::io::Read;
            let mut key = [0];
            while let Ok(1) = std::io::stdin().read(&mut key) {
                if matches!(key[0], b'q' | b'Q' | 0x1b) && pressed.blocking_send(()).is_err() {
                    return;
                }
            }
        });
        print(OPEN);
        Ok(Self { keys, _mode: mode })
    }

    /// Shows `text` from the top; what does not fit below is left out.
    pub fn draw(&self, text: &str) {
        let rows = usize::from(terminal::size().rows);
        let mut frame = String::from("\x1b[H");
        let lines: Vec<&str> = text.lines().take(rows).collect();
        for (i, line) in lines.iter().enumerate() {
            frame.push_str(line);
            frame.push_str("\x1b[K");
            if i + 1 < lines.len() {
                frame.push_str("\r\n");
            }
        }
        frame.push_str("\x1b[J");
        print(&frame);
    }

    /// Waits until the user wants to leave.
    pub async fn quit(&mut self) {
        if self.keys.recv().await.is_none() {
            // Standard input ended: only a signal ends the view now.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        print(CLOSE);
    }
}
