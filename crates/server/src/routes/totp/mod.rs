//! The second factor of the caller.

pub mod confirm;
pub mod prepare;
pub mod remove;
