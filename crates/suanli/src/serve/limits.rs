//! What one caller may take of the server, as flags.

use clap::Args;
use server::limits::{Limits, Rate};

/// Limits that an operator may have to change; the others are in `docs/operate.md`.
#[derive(Clone, Debug, Args)]
pub struct LimitFlags {
    /// Open connections at most; fewer where the system allows fewer open files
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections)]
    connections: usize,
    /// Requests a second with one token, ten times as many at once after a rest; 0: no limit
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
            behind_proxy: self.behind_proxy,
            ..Limits::default()
        }
    }
}
