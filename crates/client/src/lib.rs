//! The typed client of the HTTP API: one function for each operation.
//!
//! Every error is a [`base::Error`]: a refusal of the server keeps its cause,
//! and whatever stands between (no connection, no answer, an answer that is not
//! ours) becomes `unavailable` with a hint.

mod backup;
mod calls;
mod http;
mod identity;
mod people;
mod sse;
mod stream;
pub mod tls;

pub use backup::Taken;
pub use http::{Client, Key};
pub use sse::EventStream;
pub use stream::{Receiver, Sender, Stream, refused};
