//! Signing up.

pub mod create;
pub mod preview;
