//! A backup of the whole site into a file (operator).

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base::{Cause, Error, Result};
use clap::Args;
use client::Taken;

use super::Outcome;
use crate::login_file;
use crate::output::{Output, bytes};

/// Save the whole site, as it is at one moment, into a file (operator)
///
/// The file is put in its place only when it is whole. Its secrets are sealed: keep
/// the key file too, but elsewhere.
#[derive(Debug, Args)]
pub struct Backup {
    /// Where to; a file of that name is replaced
    file: PathBuf,
}

impl Backup {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let part = part(&self.file);
        let done = take(&client, &part, &self.file).await;
        if done.is_err() {
            // What is not whole is worth nothing.
            drop(std::fs::remove_file(&part));
        }
        let taken = done?;
        out.result(&taken, |out| {
            let rows: i64 = taken.rows.values().sum();
            format!(
                "{} holds the site as it was at {}: {rows} rows, {}\n",
                self.file.display(),
                out.zone.show(taken.made_at),
                bytes(taken.bytes)
            )
        });
        Ok(0)
    }
}

fn part(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

async fn take(client: &client::Client, part: &Path, file: &Path) -> Result<Taken> {
    // Made anew: one that was left behind may be open to others.
    drop(std::fs::remove_file(part));
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(part);
    let mut to = tokio::fs::File::from_std(made.map_err(|e| cannot(part, &e))?);
    let taken = client.backup(&mut to).await?;
    to.sync_all().await.and_then(|()| std::fs::rename(part, file)).map_err(|e| cannot(file, &e))?;
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|e| cannot(file, &e))?;
    Ok(taken)
}

fn cannot(file: &Path, error: &std::io::Error) -> Error {
    Error::new(Cause::InvalidRequest, format!("{} cannot be written: {error}", file.display()))
        .hint("choose another place with enough room")
}
