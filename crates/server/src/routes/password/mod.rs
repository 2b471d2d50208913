//! Passwords: another one, or a new one for who has forgotten his.

pub mod change;
pub mod forgot;
pub mod reset;
