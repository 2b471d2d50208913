//! Projects of accounts: names that instances carry, with quotas of their own.

pub mod list;
pub mod quotas;
pub mod set_quotas;
