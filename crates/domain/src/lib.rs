//! The rental domain: pure types and rules, no clock, no I/O.

pub mod catalogue;
pub mod device;
pub mod instance;
pub mod name;
pub mod project;
pub mod resources;
pub mod rights;
pub mod rules;
