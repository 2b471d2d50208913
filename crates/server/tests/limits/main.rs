//! A server under load, with slow and greedy callers, and with a database in
//! trouble: over real sockets of this machine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking, as tests do"
)]

extern crate suanli_server as server;

#[allow(dead_code, reason = "shared with the tests of the routes, which use more of it")]
#[path = "../routes/answer.rs"]
mod answer;
#[allow(dead_code, reason = "shared with the store's tests, which use more of it")]
#[path = "../../../store/tests/store/db.rs"]
mod db;
#[allow(dead_code, reason = "shared with the tests of the routes, which use more of it")]
#[path = "../routes/site.rs"]
mod site;

mod broken;
mod disk;
mod docs;
mod incidents;
mod many;
mod metrics;
mod postgres;
mod raw;
mod readers;
mod ready;
mod requests;
mod served;
mod slow;
mod streams;
