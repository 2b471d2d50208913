//! What one caller may take of the server, as flags.

use clap::Args;
use server::limits::{Limits, Rate};

/// Limits that an operator may have to change; the others are in `docs/operate.md`.
#[derive(Clone, Debug, Args)]
pub struct LimitFlags {
    /// Open connections at most; fewer where the system allows fewer open files
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections)]
    connections: usize,
    /// Requests a second with one token, ten times as many at once after a rest, and twice as
    /// many by one user with all his tokens; 0: no limit
    #[arg(long, value_name = "N", default_value_t = 100)]
    requests_per_second: u32,
    /// The peers on loopback are a reverse proxy of yours: take the caller's address from the
    /// last entry of its X-Forwarded-For
    #[arg(long)]
    behind_proxy: bool,
}

impl LimitFlags {
    pub fn limits(&self) -> Limits {
        Limits {
            connections: self.connections,
            per_token: Rate::per_second(self.requests_per_second),
            // Else a token that may do more would be stopped by its user's limit.
            per_user: Rate::per_second(self.requests_per_second.saturating_mul(2)),
            behind_proxy: self.behind_proxy,
            ..Limits::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        limits: LimitFlags,
    }

    #[test]
    fn a_user_is_never_stopped_before_his_token() {
        let limits = |words: &[&str]| Line::parse_from(std::iter::once(&"x").chain(words)).limits.limits();
        let usual = limits(&[]);
        assert_eq!((usual.per_token, usual.per_user), (Limits::default().per_token, Limits::default().per_user));
        let none = limits(&["--requests-per-second", "0"]);
        assert_eq!((none.per_token, none.per_user), (Rate::NONE, Rate::NONE));
        let more = limits(&["--requests-per-second", "1000"]);
        assert!(more.per_user.every < more.per_token.every && more.per_user.burst > more.per_token.burst);
    }
}
