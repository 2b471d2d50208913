//! Wire types of the HTTP API `/v1`: what server, command line and console exchange.
//!
//! Money is `{"amount": "1.80", "micros": 1800000}`, times are RFC 3339 UTC,
//! lengths of time are texts such as `30m`.

pub mod account;
pub mod audit_log;
pub mod bill;
pub mod event;
pub mod identity;
pub mod instance;
pub mod member;
pub mod offer;
pub mod operator;
pub mod problem;
pub mod quota;
pub mod recovery;
pub mod session;
pub mod sign_up;
pub mod site;
pub mod token;
pub mod totp;
pub mod user;
pub mod words;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One page of a longer list.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// The entries, newest first unless said otherwise.
    pub items: Vec<T>,
    /// Pass it as `cursor` to get the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
