//! Fault points: places where a test can kill the process.
//!
//! Every step names the moments between its instructions. A test sets
//! `SUANLI_FAULT` to one of the names, and the process dies there by SIGKILL, as
//! if the power had gone. The list of names is read out of the source by a test,
//! so that no new point stays without a case.

use std::sync::OnceLock;

static ARMED: OnceLock<Option<String>> = OnceLock::new();

/// Dies here if this point is armed.
pub fn point(name: &'static str) {
    let armed = ARMED.get_or_init(|| std::env::var("SUANLI_FAULT").ok());
    if armed.as_deref() == Some(name) {
        tracing::warn!(name, "fault point reached");
        die();
    }
}

fn die() -> ! {
    // An abort is as final as SIGKILL: no destructor runs, no buffer is flushed.
    std::process::abort()
}
