//! Projects: what a team calls a part of its work, so that it can see and limit its cost.

use std::fmt;
use std::str::FromStr;

use base::{Cause, Error, Result};
use serde::{Deserialize, Serialize};

use crate::name::check_name;

/// Longest name of a project, characters.
pub const MAX_PROJECT: usize = 64;

/// Name of a project within an account: trimmed, 1–64 readable characters, compared
/// exactly. A project needs no founding: it is there once something carries its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String)]
pub struct Project(String);

impl Project {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for Project {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let hint = format!("a project is called with 1 to {MAX_PROJECT} readable characters");
        let name = check_name(text)
            .map_err(|e| Error::new(Cause::InvalidName, format!("the project: {}", e.message())).hint(hint.clone()))?;
        let bad = |what: &str| Error::new(Cause::InvalidName, format!("the project: this name {what}"));
        if name.chars().count() > MAX_PROJECT {
            return Err(bad(&format!("is longer than {MAX_PROJECT} characters")).hint(hint));
        }
        // It is a part of addresses, where these two mean other places.
        if name == "." || name == ".." {
            return Err(bad("has nothing but dots").hint(hint));
        }
        Ok(Self(name))
    }
}

impl TryFrom<String> for Project {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Project> for String {
    fn from(project: Project) -> Self {
        project.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readable_names_are_kept_trimmed_and_compared_exactly() {
        for name in ["vision", "a/b", "训练 7B", "...", &"字".repeat(MAX_PROJECT)] {
            assert_eq!(format!(" {name}\t").parse::<Project>().unwrap().as_str(), name);
        }
        assert_ne!("vision".parse::<Project>().unwrap(), "Vision".parse().unwrap());
        let json = serde_json::to_string(&"a b".parse::<Project>().unwrap()).unwrap();
        assert_eq!(json, "\"a b\"");
        assert_eq!(serde_json::from_str::<Project>(&json).unwrap().as_str(), "a b");
    }

    #[test]
    fn other_names_are_refused_with_their_cause() {
        for name in ["", "  ", ".", "..", "a\nb", "a\u{202e}b", &"x".repeat(MAX_PROJECT + 1), &"x".repeat(200)] {
            let error = name.parse::<Project>().unwrap_err();
            assert_eq!(error.cause(), Cause::InvalidName, "{name:?}");
            assert!(error.message().starts_with("the project: ") && error.hint_text().is_some(), "{error:?}");
        }
        assert!(serde_json::from_str::<Project>("\"\"").is_err());
    }
}
