//! Quotas of accounts.

pub mod set;
pub mod show;
