//! The client against a real Incus.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]
#![allow(missing_docs, reason = "read together with the tests")]

mod client;
mod site;
mod storage;
