//! Every route over real databases, without an engine: what is asked, refused,
//! written and told. PostgreSQL comes from `SUANLI_TEST_POSTGRES`
//! (`scripts/with-postgres.sh`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking, as tests do"
)]

extern crate suanli_server as server;

mod access;
mod accounts;
mod answer;
#[allow(dead_code, reason = "shared with the store's tests, which use more of it")]
#[path = "../../../store/tests/store/db.rs"]
mod db;
mod events;
mod instances;
mod metrics;
mod money;
mod offers;
mod openapi;
mod paging;
mod prices;
mod problems;
mod recovery;
mod rent;
mod repeat;
mod secrets;
mod session;
mod site;
mod stream;
