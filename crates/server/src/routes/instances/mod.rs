//! Instances.

pub mod events;
pub mod list;
pub mod release;
pub mod rent;
pub mod show;
pub mod start;
pub mod stop;
pub mod stream;
pub mod usage;
pub mod why;
