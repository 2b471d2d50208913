//! What somebody has to look at.

pub mod close;
pub mod list;
