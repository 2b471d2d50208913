//! The e-mail address of a user.

pub mod resend;
pub mod verify;
