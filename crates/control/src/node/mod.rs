//! Nodes: hearing what their agents can prove, and writing it down.

mod evidence;
mod reconcile;
mod recovery;
mod watch;

pub use evidence::apply;
pub use watch::{Watch, register, run};
