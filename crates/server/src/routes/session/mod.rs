//! Signing in and out.

pub mod login;
pub mod logout;
pub mod whoami;
