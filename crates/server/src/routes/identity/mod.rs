//! Who the caller really is.

pub mod check;
pub mod show;
