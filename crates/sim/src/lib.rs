//! The whole site in one thread: true controllers, true store, true bills; simulated
//! time, machines, agents and network. One seed, one history.
//!
//! Invariant: nothing here waits for real time or reads a clock, and only one task
//! runs at a time, so the same seed and steps lead to the same bytes.

mod action;
mod laws;
mod machine;
mod mix;
mod rest;
mod scene;
mod shrink;
mod story;
mod truth;
mod wire;
mod wish;
mod world;

pub use action::{Action, Event, Fate, HELD, IN_BULK, Twist, Wish};
pub use laws::Broken;
pub use mix::history;
pub use shrink::shorten;
pub use story::{Told, tell};
