//! Who did what (operator).

pub mod check;
pub mod export;
pub mod list;
pub mod retention;
