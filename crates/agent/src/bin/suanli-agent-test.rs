//! The agent alone, for tests that kill and restart it: its configuration as JSON
//! in the first argument.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(config) = std::env::args().nth(1).and_then(|text| serde_json::from_str(&text).ok()) else {
        eprintln!("the first argument must be the agent's configuration as JSON");
        return ExitCode::from(2);
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let shutdown = async {
        // Without the signal the agent simply goes on until it is killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    match runtime.block_on(suanli_agent::run(config, shutdown)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", error.cause());
            ExitCode::FAILURE
        }
    }
}
