//! SSH public keys of the caller.

pub mod add;
pub mod delete;
pub mod list;
mod read;
