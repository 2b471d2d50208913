//! Colours, where they are wanted.

use std::io::IsTerminal;

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// As it is.
    #[default]
    Plain,
    /// A heading.
    Bold,
    /// Good.
    Green,
    /// Under way, or worth a look.
    Yellow,
    /// Bad, or unsafe.
    Red,
    /// Beside the point.
    Dim,
}

/// Whether colours are used.
#[derive(Clone, Copy, Debug)]
pub struct Paint(bool);

impl Paint {
    /// For standard output: on a terminal, unless `NO_COLOR` is set.
    pub fn for_stdout() -> Self {
        Self(std::io::stdout().is_terminal() && colours_wanted())
    }

    /// For standard error, likewise.
    pub fn for_stderr() -> Self {
        Self(std::io::stderr().is_terminal() && colours_wanted())
    }

    /// Always or never.
    #[cfg(test)]
    pub fn fixed(on: bool) -> Self {
        Self(on)
    }

    /// `text` in this style.
    pub fn text(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Bold => "1",
            Style::Green => "32",
            Style::Yellow => "33",
            Style::Red => "31",
            Style::Dim => "2",
            Style::Plain => return text.to_owned(),
        };
        if self.0 && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_text_stays_as_it_is() {
        assert_eq!(Paint::fixed(false).text(Style::Red, "none"), "none");
        assert_eq!(Paint::fixed(true).text(Style::Red, "none"), "\x1b[31mnone\x1b[0m");
        assert_eq!(Paint::fixed(true).text(Style::Plain, "none"), "none");
    }
}
