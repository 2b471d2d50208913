//! The price book.

pub mod lint;
pub mod load;
pub mod show;
