//! API tokens of the caller.

pub mod create;
pub mod delete;
pub mod list;
