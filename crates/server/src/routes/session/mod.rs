//! Signing in and out.

pub mod end;
pub mod list;
pub mod login;
pub mod logout;
pub mod logout_everywhere;
pub mod whoami;
