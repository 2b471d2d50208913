//! Every query of the store on both databases. PostgreSQL comes from
//! `SUANLI_TEST_POSTGRES` (`scripts/with-postgres.sh`).

extern crate suanli_store as store;

mod audit;
mod claims;
mod db;
mod events;
mod fixture;
mod fleet;
mod intents;
mod ledger;
mod people;
mod segments;
mod writes;
