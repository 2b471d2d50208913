//! What can be rented, and for how much.

pub mod gpus;
pub mod list;
pub mod quote;
