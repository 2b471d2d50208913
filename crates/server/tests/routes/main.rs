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
mod audit_log;
#[allow(dead_code, reason = "shared with the store's tests, which use more of it")]
#[path = "../../../store/tests/store/db.rs"]
mod db;
mod deeds;
mod events;
mod identity;
mod instances;
mod keys;
mod mailbox;
mod members;
mod metrics;
mod money;
mod offers;
mod oidc;
mod openapi;
mod paging;
mod passwords;
mod prices;
mod problems;
mod projects;
mod quotas;
mod recovery;
mod rent;
mod repeat;
mod rights;
mod second_factor;
mod secrets;
mod session;
mod settings;
mod sign_up;
mod site;
mod standing;
mod stream;
mod tokens;
mod users;
