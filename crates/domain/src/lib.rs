//! The rental domain: pure types and rules, no clock, no I/O.

pub mod device;
