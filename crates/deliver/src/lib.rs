//! What leaves the site by itself: mail from the outbox, and requests to services
//! that the operator has named.
//!
//! Mail is written in the transaction of the deed that it tells of ([`store::outbox`]);
//! [`worker::run`] sends it afterwards, as often as needed.

pub mod http;
pub mod letters;
pub mod smtp;
pub mod way;
pub mod worker;

pub use letters::{Language, Letter};
pub use way::Way;
