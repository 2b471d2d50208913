//! The streams that reach into an instance.
//!
//! One stream is one byte pipe in each direction that carries [`Frame`]s. The
//! first frame from the caller is a [`Control::Open`]; the last one back is
//! [`Control::Exit`] or [`Control::Error`]. Whoever passes a stream on (server,
//! agent) copies bytes and never needs to look inside.

pub mod frame;

pub use frame::{Control, Frame, MAX_PAYLOAD, Open, Size};
