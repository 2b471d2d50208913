//! The lowest layer: words that every other crate shares.
//!
//! Ids, money, time, cause codes and the error that carries them. Nothing here
//! reads a clock, draws a random number or touches the outside world: those
//! values come in as arguments.

pub mod cause;
pub mod error;
pub mod id;
pub mod money;
pub mod time;

pub use cause::Cause;
pub use error::{Error, Kind, Result};
pub use id::{
    AccountId, AllocationId, AuditId, DeviceId, EventId, IncidentId, InstanceId, InvitationId, KeyId, MessageId,
    NodeId, PostingId, SegmentId, Slug, TokenId, UserId,
};
pub use money::{Money, Rate};
pub use time::{Span, Timestamp};
