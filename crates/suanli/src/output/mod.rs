//! What people and programs read: tables, amounts, times, JSON.

mod paint;
mod table;
mod time;

use std::io::{IsTerminal, Write};

use base::{Error, Money, Rate};
use serde::Serialize;

pub use paint::{Paint, Style};
pub use table::{Cell, Table};
pub use time::Zone;

/// Where results go and how they look.
pub struct Output {
    /// Whether results are JSON.
    pub json: bool,
    /// Colours of standard output.
    pub paint: Paint,
    /// Time zone of everything shown.
    pub zone: Zone,
}

impl Output {
    /// As the environment asks for.
    pub fn from_environment(json: bool) -> Self {
        Self { json, paint: Paint::for_stdout(), zone: Zone::local() }
    }

    /// Prints a result: the value itself as JSON, or the words made from it.
    pub fn result<T: Serialize>(&self, value: &T, words: impl FnOnce(&Self) -> String) {
        if self.json { json(value) } else { print(&words(self)) }
    }
}

/// Prints one value as JSON.
pub fn json<T: Serialize>(value: &T) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => print(&format!("{text}\n")),
        Err(error) => note(&format!("the answer cannot be written as JSON: {error}")),
    }
}

/// Prints one value as JSON on one line, for streams of them.
pub fn json_line<T: Serialize>(value: &T) {
    match serde_json::to_string(value) {
        Ok(text) => print(&format!("{text}\n")),
        Err(error) => note(&format!("the answer cannot be written as JSON: {error}")),
    }
}

/// Writes to standard output. Whoever stopped reading (`| head`) ends the
/// program quietly, with the status that a shell gives to a broken pipe.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(141);
    }
}

/// Writes a line to standard error.
pub fn note(line: &str) {
    write_note(&format!("{line}\n"));
}

/// Writes a line to standard error that must not be overlooked: red on a terminal.
pub fn alarm(line: &str) {
    note(&Paint::for_stderr().text(Style::Red, line));
}

/// Writes to standard error. That nobody reads there stops nothing.
pub fn write_note(text: &str) {
    let mut err = std::io::stderr().lock();
    drop(err.write_all(text.as_bytes()).and_then(|()| err.flush()));
}

/// Whether progress can be redrawn in place.
pub fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Prints an error: cause, message and hint, never internals.
pub fn error(error: &Error, json: bool) {
    if json {
        self::json(&serde_json::json!({ "error": error_object(error) }));
    }
    let paint = Paint::for_stderr();
    let head = format!("refused ({}):", error.cause());
    note(&format!("{} {}", paint.text(Style::Red, &head), clean(error.message())));
    if let Some(hint) = error.hint_text() {
        note(&format!("hint: {}", clean(hint)));
    }
}

/// The object below `error` in JSON output.
pub fn error_object(error: &Error) -> serde_json::Value {
    let mut object = serde_json::json!({ "code": error.cause(), "message": error.message() });
    if let Some(hint) = error.hint_text() {
        object["hint"] = hint.into();
    }
    object
}

/// An amount with its currency.
pub fn money(amount: Money, currency: &str) -> String {
    format!("{amount} {currency}").trim_end().to_owned()
}

/// A price an hour with its currency.
pub fn per_hour(rate: Rate, currency: &str) -> String {
    format!("{} an hour", money(Money::from_micros(rate.micros_per_hour()), currency))
}

/// Text of others without anything that a terminal would obey.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A size in bytes, for people.
pub fn bytes(count: u64) -> String {
    const UNITS: &[&str] = &["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let (mut tenths, mut unit) = (count.saturating_mul(10) / 1024, 0);
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_easily() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(5 * 1024 * 1024 * 1024), "5.0 GiB");
        assert_eq!(bytes(u64::MAX / 16), "1048575.9 TiB");
    }

    #[test]
    fn names_cannot_command_the_terminal() {
        assert_eq!(clean("a\x1b[2Jb\nc"), "a\u{fffd}[2Jb\u{fffd}c");
        assert_eq!(clean("训练"), "训练");
    }

    #[test]
    fn errors_show_cause_message_and_hint_but_no_context() {
        let error = Error::new(base::Cause::NoCapacity, "all taken").hint("try another").context("node 7 is full");
        let shown = error_object(&error);
        assert_eq!(shown, serde_json::json!({"code": "no-capacity", "message": "all taken", "hint": "try another"}));
    }

    #[test]
    fn amounts_name_their_currency() {
        assert_eq!(money(Money::from_micros(1_800_000), "CNY"), "1.80 CNY");
        assert_eq!(money(Money::from_micros(1_800_000), ""), "1.80");
        assert_eq!(per_hour(Rate::from_micros_per_hour(1_800_000), "CNY"), "1.80 CNY an hour");
    }
}
