//! How many days of a simulated site pass in a second, as `suanli-sim --bench` says.

use std::process::Stdio;

use base::{Cause, Error, Result};
use serde::Deserialize;
use tokio::process::Command;

use crate::figure::Figure;
use crate::within::within;

/// Environment variable with the path of the program.
const PROGRAM: &str = "SUANLI_SIM_BIN";

/// What the program prints.
#[derive(Debug, Deserialize, PartialEq)]
struct Line {
    value: f64,
    runs: Vec<f64>,
}

/// The program's own figure.
///
/// # Errors
/// It cannot be run, breaks a law, or prints something else.
pub async fn figures() -> Result<Vec<Figure>> {
    let program = std::env::var_os(PROGRAM).ok_or_else(|| {
        Error::new(Cause::HostIncomplete, format!("{PROGRAM} is not set")).hint("run through `make bench`")
    })?;
    let mut command = Command::new(program);
    command.arg("--bench").stdin(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true);
    // A group of its own: Ctrl-C is for the bench.
    command.process_group(0);
    let output = within(async { command.output().await.map_err(Error::internal) }).await?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(Error::internal(format!("the simulation ended with {}", output.status)).context(text));
    }
    let line = line(&text).ok_or_else(|| Error::internal("the simulation printed no figure").context(text))?;
    Ok(vec![tell(&line)])
}

fn line(text: &str) -> Option<Line> {
    text.lines().find_map(|line| serde_json::from_str(line).ok()).filter(|line: &Line| !line.runs.is_empty())
}

fn tell(line: &Line) -> Figure {
    let least = line.runs.iter().copied().fold(f64::INFINITY, f64::min);
    let most = line.runs.iter().copied().fold(0.0, f64::max);
    Figure::new("sim.days", line.value, "days/s", line.runs.len()).note(format!(
        "days of a whole simulated site in a second of one core, its laws checked all along; the middle of runs from \
         {least:.1} to {most:.1}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_line_is_understood() {
        let text =
            "seed 3\n{\"name\":\"sim_days_per_second\",\"value\":2.5,\"unit\":\"days/s\",\"runs\":[1.5,2.5,4.0]}\n";
        let found = line(text).unwrap();
        assert_eq!(found, Line { value: 2.5, runs: vec![1.5, 2.5, 4.0] });
        let figure = tell(&found);
        assert_eq!((figure.value, figure.runs), (2.5, 3));
        assert_eq!(line("{\"value\":1.0,\"runs\":[]}"), None);
        assert_eq!(line("seed 3 breaks a law\n"), None);
    }
}
