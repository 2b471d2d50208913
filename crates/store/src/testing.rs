//! Where a simulation can hold whoever writes.
//!
//! Everything else in a program runs on until it wants to change something, so
//! these two moments of each write are all that another server can come between.

use std::sync::Arc;

use futures_util::future::BoxFuture;

/// A moment of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Nothing is done yet.
    Before,
    /// It is done or refused; its caller does not know yet.
    After,
}

/// What is awaited at each such moment.
pub type Gate = Arc<dyn Fn(Moment) -> BoxFuture<'static, ()> + Send + Sync>;
