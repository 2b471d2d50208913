//! Mail from the outbox to a mail server and into a folder. PostgreSQL comes from
//! `SUANLI_TEST_POSTGRES` (`scripts/with-postgres.sh`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking, as tests do"
)]

extern crate suanli_deliver as deliver;

#[allow(dead_code, reason = "shared with the store's tests, which use more of it")]
#[path = "../../../store/tests/store/db.rs"]
mod db;
mod folder;
mod outbox;
mod sink;
