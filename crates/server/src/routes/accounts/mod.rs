//! Accounts (operator).

pub mod create;
pub mod list;
pub mod topup;
