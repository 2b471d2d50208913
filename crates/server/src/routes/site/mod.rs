//! The site itself: health, books, backups.

pub mod audit;
pub mod backup;
pub mod health;
pub mod metrics;
pub mod recovery;
pub mod settings;
pub mod show;
