//! A simulated clock and a simulated machine, for driving controllers by hand.
//!
//! Invariant: nothing here waits for real time or draws a random number, so the
//! same orders lead to the same books.

mod clock;
mod engine;
mod machine;

pub use clock::SimClock;
pub use engine::{Call, SimEngine, Trouble};
pub use machine::Run;
