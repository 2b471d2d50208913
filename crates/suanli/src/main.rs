//! `suanli`: the command line of renters and operators, and with the feature
//! `server` the server and the node agent too.

#[cfg(feature = "server")]
mod agent;
mod cli;
mod inside;
mod login_file;
mod output;
#[cfg(feature = "server")]
mod serve;
mod session;
mod terminal;
mod transfer;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let json = cli.json;
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::note(&format!("the program cannot start its threads: {error}"));
            return ExitCode::from(6);
        }
    };
    let code = match runtime.block_on(cli.run()) {
        Ok(code) => code,
        Err(failure) => {
            if !failure.shown {
                output::error(&failure.error, json);
            }
            failure.exit
        }
    };
    // A thread that waits for standard input would hold up an orderly end.
    runtime.shutdown_background();
    ExitCode::from(code)
}
