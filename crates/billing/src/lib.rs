//! Prices, charges, the ledger and the bill: pure integer arithmetic.
//!
//! A price book becomes a [`quote::Quote`] whose frozen rate a [`segment::Segment`]
//! carries; what a segment owes becomes a [`ledger::Posting`], and a
//! [`bill::Bill`] is a document over postings. Times and amounts come in as
//! arguments; nothing here reads a clock or a float.

pub mod bill;
pub mod book;
pub mod guard;
pub mod ledger;
pub mod plan;
pub mod quote;
pub mod segment;
pub mod share;
pub mod subscription;

pub use book::PriceBook;
pub use plan::Plan;
pub use quote::{Quote, QuoteRequest, quote};
pub use share::Share;

#[cfg(test)]
mod examples;
