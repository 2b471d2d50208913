//! Every query of the store on both databases. PostgreSQL comes from
//! `SUANLI_TEST_POSTGRES` (`scripts/with-postgres.sh`).

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, as tests do")]

extern crate suanli_store as store;

mod audit;
mod audit_log;
mod backup;
mod claims;
mod db;
mod events;
mod fixture;
mod fleet;
mod inside;
mod intents;
mod ledger;
mod people;
mod quotas;
mod secrets;
mod segments;
mod settlement;
mod upgrade;
mod writes;
