//! The C functions, one file per noun.

// The names are NVIDIA's, and the functions are documented in their header.
#![allow(non_snake_case)]

#[macro_use]
mod call;

mod identity;
mod layout;
mod limits;
mod link;
mod live;
mod lookup;
mod process;
mod session;
mod system;

/// Functions that are not modelled, generated from `names.txt`.
mod stubs {
    include!(concat!(env!("OUT_DIR"), "/stubs.rs"));
}
