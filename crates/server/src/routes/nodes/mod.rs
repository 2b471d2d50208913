//! Nodes (operator).

pub mod list;
