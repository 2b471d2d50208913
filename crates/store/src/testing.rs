//! Where a simulation can hold whoever writes, and what it looks at.
//!
//! Everything else in a program runs on until it wants to change something, so
//! these two moments of each write are all that another server can come between.

use std::sync::Arc;

use base::EventId;
use futures_util::future::BoxFuture;
use sqlx::AnyConnection;

use crate::Outcome;
use crate::row::parsed;

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

/// Ids of all events in the order in which their transactions wrote them. SQLite only:
/// it has one writer, and counts its rows.
pub async fn written(db: &mut AnyConnection) -> Outcome<Vec<EventId>> {
    let rows = sqlx::query("SELECT id FROM events ORDER BY rowid").fetch_all(db).await?;
    rows.iter().map(|row| parsed(row, "id")).collect()
}
