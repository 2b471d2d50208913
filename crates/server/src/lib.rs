//! The HTTP server: validates, asks the pure crates, writes intent, answers.
//!
//! Invariant: no route calls an engine's life cycle. Reaching *into* an instance
//! (streams, current use) goes through [`reach::Reach`].

pub mod accounts;
pub mod auth;
pub mod bills;
pub mod console;
pub mod error;
pub mod extract;
pub mod factor;
pub mod first_run;
pub mod headers;
pub mod identity;
pub mod joining;
pub mod known;
pub mod letters;
pub mod limits;
pub mod listen;
pub mod metrics;
pub mod observed;
pub mod oidc;
pub mod openapi;
pub mod password;
pub mod prices;
pub mod reach;
pub mod rent;
pub mod request_id;
pub mod resolve;
pub mod router;
pub mod routes;
pub mod rules;
pub mod secrets;
pub mod serve;
pub mod sessions;
pub mod settings;
pub mod site_url;
pub mod standing;
pub mod state;
pub mod stock;
pub mod trail;
pub mod views;

pub use router::router;
pub use state::App;
