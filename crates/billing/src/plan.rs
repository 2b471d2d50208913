//! How an instance is paid.

use std::fmt;
use std::str::FromStr;

use base::{Cause, Error, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A way to pay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Plan {
    /// List rate by the second; stop at any time.
    #[default]
    OnDemand,
    /// List rate less a discount; may be taken back after a notice.
    Spot,
    /// A calendar month, prepaid.
    Month,
    /// A calendar year, prepaid.
    Year,
}

impl Plan {
    /// Every plan.
    pub const ALL: [Self; 4] = [Self::OnDemand, Self::Spot, Self::Month, Self::Year];

    /// The word for it in commands and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OnDemand => "on-demand",
            Self::Spot => "spot",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Plan {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|p| p.as_str() == text).ok_or_else(|| {
            Error::new(Cause::InvalidRequest, format!("`{}` is not a plan", text.escape_debug()))
                .hint("use on-demand, spot, month or year")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_and_match_json() {
        for plan in Plan::ALL {
            assert_eq!(plan.to_string().parse::<Plan>().unwrap(), plan);
            assert_eq!(serde_json::to_value(plan).unwrap(), plan.as_str());
        }
        assert_eq!("hourly".parse::<Plan>().unwrap_err().cause(), Cause::InvalidRequest);
    }
}
