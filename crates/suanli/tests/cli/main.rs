//! The command line against a small server made for these tests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests too")]

mod copies;
mod data;
mod guest;
mod jobs;
mod logins;
mod refusals;
mod rents;
mod server;
mod streams;
mod terminals;
mod words;
