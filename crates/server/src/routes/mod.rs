//! One folder per noun, one file per verb.

pub mod accounts;
pub mod audit_log;
pub mod events;
pub mod identity;
pub mod incidents;
pub mod instances;
pub mod invitations;
pub mod keys;
pub mod mail;
pub mod members;
pub mod money;
pub mod nodes;
pub mod offers;
pub mod oidc;
pub mod password;
pub mod prices;
pub mod projects;
pub mod quotas;
pub mod session;
pub mod signup;
pub mod site;
pub mod tokens;
pub mod totp;
pub mod users;
