//! Which node and which devices a request gets: pure, deterministic, explained.
//!
//! Invariant: the same fleet and request give the same answer, on any machine.

pub mod choose;
pub mod fleet;

pub use choose::place;
pub use fleet::{Device, Node, Placement, Request};
