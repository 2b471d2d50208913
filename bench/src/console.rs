//! The first visit to the console in a real browser.

use std::path::Path;
use std::process::Stdio;

use base::{Cause, Error, Result};
use serde::Deserialize;
use tokio::process::Command;

use crate::figure::Figure;
use crate::server::{self, Server};
use crate::within::within;

/// What `web/bench/first.mjs` prints.
#[derive(Debug, Deserialize, PartialEq)]
struct Visits {
    bytes: f64,
    ms: Vec<f64>,
}

/// Size and time of a first visit.
///
/// # Errors
/// The browser cannot be run, or the console is not a part of this server.
pub async fn figures() -> Result<Vec<Figure>> {
    server::during(None, async |server| within(visit(server)).await).await
}

async fn visit(server: &Server) -> Result<Vec<Figure>> {
    let mut command = Command::new("node");
    command.arg("bench/first.mjs").current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../web"));
    command.env("CONSOLE_URL", format!("http://{}", server.address()));
    command.stdin(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true);
    // A group of its own: Ctrl-C is for the bench.
    command.process_group(0);
    let output = command.output().await.map_err(|e| {
        Error::new(Cause::HostIncomplete, format!("node cannot be run: {e}")).hint("run through `make bench`")
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(Error::internal(format!("the visit ended with {}", output.status)).context(text));
    }
    let visits = serde_json::from_str(&text).map_err(|e| Error::internal(e).context(text))?;
    tell(visits)
}

fn tell(visits: Visits) -> Result<Vec<Figure>> {
    let Visits { bytes, mut ms } = visits;
    ms.sort_by(f64::total_cmp);
    let middle = ms.get(ms.len() / 2).copied().ok_or_else(|| Error::internal("there was no visit"))?;
    Ok(vec![
        Figure::new("console.first_page", bytes / 1_000.0, "kB", 1)
            .note("what the browser fetched for the sign-in page, packed, heads of answers included; aim: at most 350"),
        Figure::new("console.usable", middle, "ms", ms.len())
            .note("until the password can be typed, nothing kept from before; Chromium and the server share the cores"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_visits_counts() {
        let visits = serde_json::from_str("{\"bytes\":300000,\"ms\":[5,1,3]}").unwrap();
        let figures = tell(visits).unwrap();
        assert_eq!((figures[0].value, figures[1].value, figures[1].runs), (300.0, 3.0, 3));
        assert!(tell(Visits { bytes: 1.0, ms: vec![] }).is_err());
    }
}
