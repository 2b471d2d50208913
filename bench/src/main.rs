//! The figures of one rent, from the offer to the bill, as JSON lines on standard
//! output. Without arguments all of them; each case can be named by itself.
//!
//! `make bench` runs it, keeps the lines in `bench/results.jsonl` and prints a table.

mod backup;
mod claims;
mod cluster;
mod console;
mod database;
mod failover;
mod figure;
mod flood;
mod home;
mod host;
mod load;
mod memory;
mod offers;
mod rent;
mod renter;
mod restarts;
mod rows;
mod sample;
mod server;
mod settle;
mod sim;
mod within;

use std::process::ExitCode;

use base::{Cause, Error, Result};
use figure::Figure;

/// The cases in the order in which they run.
const CASES: [&str; 10] =
    ["rent", "offers", "memory", "settle", "backup", "failover", "restarts", "sim", "console", "flood"];

#[tokio::main]
async fn main() -> ExitCode {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let cases: Vec<&str> = if named.is_empty() { CASES.to_vec() } else { named.iter().map(String::as_str).collect() };
    let mut code = ExitCode::SUCCESS;
    for case in cases {
        eprintln!("==> {case}");
        match run(case).await {
            Ok(figures) => figures.iter().for_each(print),
            Err(error) => {
                tell(case, &error);
                code = ExitCode::FAILURE;
            }
        }
        if within::told_to_end() {
            break;
        }
    }
    code
}

async fn run(case: &str) -> Result<Vec<Figure>> {
    match case {
        "rent" => rent::figures().await,
        "offers" => offers::figures().await,
        "memory" => memory::figures().await,
        "settle" => settle::figures().await,
        "backup" => backup::figures().await,
        "failover" => failover::figures().await,
        "restarts" => restarts::figures().await,
        "sim" => sim::figures().await,
        "console" => console::figures().await,
        "flood" => flood::figures().await,
        other => Err(Error::new(Cause::InvalidRequest, format!("there is no case `{}`", other.escape_debug()))
            .hint(format!("choose from {}", CASES.join(", ")))),
    }
}

#[allow(clippy::print_stdout, reason = "figures are what this program is for")]
fn print(figure: &Figure) {
    match serde_json::to_string(figure) {
        Ok(line) => println!("{line}"),
        Err(error) => eprintln!("error: {}: {error}", figure.name),
    }
}

fn tell(case: &str, error: &Error) {
    eprintln!("error: {case}: {}", error.message());
    if let Some(hint) = error.hint_text() {
        eprintln!(" hint: {hint}");
    }
    if let Some(context) = error.context_text() {
        eprintln!("{context}");
    }
}
