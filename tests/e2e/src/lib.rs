//! What the end-to-end tests stand on: sites (a server with its agent and fake
//! cards in a folder of its own), people who use the command line, and looks at
//! what the machine shows.
//!
//! Everything here drives the program `suanli` from outside, as a person would.
//! The tests need root, because the sandbox gives every instance a user of its
//! own; without it they fail instead of passing for nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test support: a failed step is a failed test"
)]

mod binary;
mod database;
mod folder;
mod host;
pub mod incus;
mod job;
mod money;
mod person;
mod points;
mod second;
mod site;
mod stream;
mod sweep;
mod wait;

pub use binary::suanli;
pub use database::Database;
pub use folder::{Folder, Tmpfs};
pub use host::{Traces, alive, is_root, pids_with, processes_of};
pub use job::{Job, Ran};
pub use money::{assert_bill_is_right, charge, micros, stretch};
pub use person::{Person, at, text};
pub use points::points;
pub use second::Second;
pub use site::{Site, Wanted};
pub use stream::Follower;
pub use sweep::sweep;
pub use wait::{eventually, eventually_within, soon};
