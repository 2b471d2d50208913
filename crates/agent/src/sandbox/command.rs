//! Short-lived commands of the host.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use base::{Cause, Error, Result};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// Services are often started with a `PATH` that lacks the administrator's folders.
const FOLDERS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const DEADLINE: Duration = Duration::from_secs(20);

/// Where the command is, if the host has it.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(FOLDERS.iter().map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
}

/// As [`find`], with an error that names the package to install.
///
/// # Errors
/// `host-incomplete`.
pub fn need(name: &str, package: &str) -> Result<PathBuf> {
    find(name).ok_or_else(|| {
        Error::new(Cause::HostIncomplete, format!("the node has no command `{name}`"))
            .hint(format!("install the package `{package}` on the node"))
    })
}

/// Runs a command with `input` and returns what it printed.
///
/// # Errors
/// `engine-failed` with the command's own words when it fails or hangs.
pub async fn run(program: &str, arguments: &[&str], input: &str) -> Result<String> {
    let failed = |why: String| {
        Error::new(Cause::EngineFailed, format!("`{program}` failed on the node: {why}"))
            .hint("the agent's log has the details")
            .context(format!("{program} {}", arguments.join(" ")))
    };
    let path = find(program).ok_or_else(|| failed("it is not installed".into()))?;
    let mut child = Command::new(path)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| failed(e.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that failed early closes its input; its own words say more.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    let output = tokio::time::timeout(DEADLINE, child.wait_with_output())
        .await
        .map_err(|_| failed(format!("no answer within {} s", DEADLINE.as_secs())))?
        .map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(failed(words.lines().next().unwrap_or("it gave no reason").trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn failures_carry_the_commands_own_words() {
        assert_eq!(run("cat", &[], "hello").await.unwrap(), "hello");
        let error = run("cat", &["/no/such/file"], "").await.unwrap_err();
        assert_eq!(error.cause(), Cause::EngineFailed);
        assert!(error.message().contains("/no/such/file"), "{error}");
        let error = need("no-such-command-here", "some-package").unwrap_err();
        assert_eq!(error.cause(), Cause::HostIncomplete);
        assert!(error.hint_text().unwrap().contains("some-package"));
    }
}
