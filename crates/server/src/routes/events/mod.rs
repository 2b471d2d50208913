//! The event stream.

pub mod follow;
