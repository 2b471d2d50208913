//! Fault points: places where a test can kill or freeze the process.
//!
//! Every step names the moments between its instructions. A test sets
//! `SUANLI_FAULT` to one of the names, and the process dies there by SIGKILL, as
//! if the power had gone; with `:freeze` behind the name it stops there by SIGSTOP,
//! once, until it is told to go on. The list of names is read out of the source by
//! a test, so that no new point stays without a case.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Signal, getpid, kill_process};

static ARMED: OnceLock<Option<String>> = OnceLock::new();

static FROZEN: AtomicBool = AtomicBool::new(false);

/// Dies or freezes here if this point is armed.
pub fn point(name: &'static str) {
    let Some(armed) = ARMED.get_or_init(|| std::env::var("SUANLI_FAULT").ok()) else { return };
    match armed.strip_prefix(name) {
        Some("") => {
            tracing::warn!(name, "fault point reached");
            die()
        }
        Some(":freeze") if !FROZEN.swap(true, Ordering::SeqCst) => {
            tracing::warn!(name, "fault point reached");
            // Whoever sent it sees from outside whether it was carried out.
            let _ = kill_process(getpid(), Signal::STOP);
        }
        _ => {}
    }
}

fn die() -> ! {
    // An abort is as final as SIGKILL: no destructor runs, no buffer is flushed.
    std::process::abort()
}
