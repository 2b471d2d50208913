//! Balance and bills.

pub mod balance;
pub mod bill;
