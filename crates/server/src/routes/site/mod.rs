//! The site itself: health, books, incidents.

pub mod audit;
pub mod health;
pub mod incidents;
pub mod metrics;
