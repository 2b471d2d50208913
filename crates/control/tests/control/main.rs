//! The controllers in a simulated world.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, as tests do")]

extern crate suanli_control as control;

mod examples;
mod fencing;
mod inside;
mod life;
mod money;
mod nodes;
mod random;
mod recovery;
mod retention;
mod rules;
mod settlement;
mod trouble;
mod upgrade;
mod world;
