//! See `e2e::sweep`: ends what a killed test leaves.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    e2e::sweep(&arguments).map_or(ExitCode::from(2), |()| ExitCode::SUCCESS)
}
