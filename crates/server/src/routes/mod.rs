//! One folder per noun, one file per verb.

pub mod accounts;
pub mod events;
pub mod incidents;
pub mod instances;
pub mod money;
pub mod nodes;
pub mod offers;
pub mod prices;
pub mod session;
pub mod site;
