//! Names that renters give to their own things.

use base::{Cause, Error, Result};

/// Longest name, characters.
pub const MAX_NAME: usize = 100;

/// A free name as the renter may use it: trimmed, 1–100 characters, readable in
/// any script. Control characters and those that change the direction of text
/// are refused, because such a name can make a list show something else.
///
/// # Errors
/// `invalid-name` saying what is wrong.
pub fn check_name(text: &str) -> Result<String> {
    let name = text.trim();
    let bad = |what: &str| {
        Error::new(Cause::InvalidName, format!("this name {what}"))
            .hint(format!("use 1 to {MAX_NAME} readable characters"))
    };
    if name.is_empty() {
        return Err(bad("is empty"));
    }
    if name.chars().count() > MAX_NAME {
        return Err(bad(&format!("is longer than {MAX_NAME} characters")));
    }
    if name.chars().any(|c| c.is_control() || is_hidden(c)) {
        return Err(bad("has control characters or characters that hide or turn text"));
    }
    if name.chars().all(|c| c.is_whitespace() || is_joiner(c)) {
        return Err(bad("shows as nothing"));
    }
    Ok(name.to_owned())
}

/// Joiners are part of many scripts and of emoji, so they may stand in a name
/// but do not make one.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Direction overrides, line separators, and characters that show as nothing.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' | '\u{f0000}'..='\u{10ffff}')
        || matches!(c, '\u{e000}'..='\u{f8ff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn readable_names_in_any_script_are_kept() {
        for name in
            ["train", "模型 7B-训练", "été 2026", "مشروع", "проект_1", "👩\u{200d}🔬 run", "a", &"字".repeat(100)]
        {
            assert_eq!(check_name(name).unwrap(), name);
        }
        assert_eq!(check_name("  two words \n").unwrap(), "two words");
    }

    #[test]
    fn names_that_deceive_are_refused() {
        for name in [
            "",
            "  ",
            "a\nb",
            "a\0",
            "gpj\u{202e}exe",
            "a\u{200b}b",
            "\u{200d}",
            "a\u{2066}b",
            "a\u{7f}",
            &"x".repeat(101),
        ] {
            assert_eq!(check_name(name).unwrap_err().cause(), Cause::InvalidName, "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn what_passes_passes_again(text in any::<String>()) {
            if let Ok(name) = check_name(&text) {
                prop_assert!(name.chars().count() <= MAX_NAME && !name.chars().any(char::is_control));
                prop_assert_eq!(check_name(&name).unwrap(), name);
            }
        }
    }
}
